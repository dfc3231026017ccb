import type { HttpMethod, JsonObject } from '../../../src/plugin.ts'

export type ParameterLocation = 'path' | 'query' | 'header' | 'cookie'

/** A parameter in OpenAPI 3 form. */
export interface Parameter {
  readonly name: string
  readonly in: ParameterLocation
  readonly required: boolean
  readonly description: string | undefined
  readonly schema: unknown
  readonly style: string
  readonly explode: boolean
  readonly allowReserved: boolean
  /** True if the value is sent as JSON (`content`). */
  readonly isJson: boolean
}

/** Form property encoding. */
export interface Encoding {
  readonly style: string | undefined
  readonly explode: boolean | undefined
  readonly contentType: string | undefined
}

export interface RequestBody {
  readonly required: boolean
  readonly description: string | undefined
  readonly contentType: string
  readonly schema: unknown
  readonly encoding: ReadonlyMap<string, Encoding>
}

/** Alternatives, each a list of schemes that are all required. */
export type Requirements = readonly (readonly string[])[]

/** One operation. References to its parts are resolved; schemas may contain references. */
export interface Operation {
  readonly method: HttpMethod
  /** Path template, beginning with a slash. */
  readonly path: string
  readonly id: string | undefined
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly tags: readonly string[]
  readonly isDeprecated: boolean
  readonly parameters: readonly Parameter[]
  readonly body: RequestBody | undefined
  /** JSON result schema, if there is exactly one. */
  readonly result: unknown
  /** Undefined if neither the operation nor the document declares it. */
  readonly security: Requirements | undefined
  /** Servers of the operation or path; undefined if those of the document apply. */
  readonly servers: unknown
}

/** Credential location and kind. */
export type SecurityScheme =
  | { readonly kind: 'apiKey'; readonly in: ParameterLocation; readonly name: string }
  | { readonly kind: 'bearer' | 'basic' }

/** A parsed document. */
export interface ApiDocument {
  readonly title: string
  readonly version: string
  readonly description: string | undefined
  readonly operations: readonly Operation[]
  /** Operations that cannot be tools, as `GET /path: reason`. */
  readonly skipped: readonly string[]
  readonly servers: unknown
  readonly schemes: ReadonlyMap<string, SecurityScheme>
  readonly references: References
}

export interface References {
  /** Resolves a `$ref`; returns other values unchanged. @throws Error if the target is missing */
  follow(value: unknown): unknown
}

export type PlainObject = JsonObject
