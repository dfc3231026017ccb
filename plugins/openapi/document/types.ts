import type { HttpMethod, JsonObject } from '../../../src/plugin.ts'

/** Part of a request that a parameter goes into. */
export type ParameterLocation = 'path' | 'query' | 'header' | 'cookie'

/** A parameter in the words of OpenAPI 3, whatever version the document is of. */
export interface Parameter {
  readonly name: string
  readonly in: ParameterLocation
  readonly required: boolean
  readonly description: string | undefined
  readonly schema: unknown
  readonly style: string
  readonly explode: boolean
  readonly allowReserved: boolean
  /** True where its value is written as JSON (`content`). */
  readonly isJson: boolean
}

/** Way in which one property of a form is written. */
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

/** Scheme names of which all are needed, one list for each alternative. */
export type Requirements = readonly (readonly string[])[]

/** One operation of a document, with references to its parts followed; schemas may still hold some. */
export interface Operation {
  readonly method: HttpMethod
  /** Template, beginning with a slash. */
  readonly path: string
  readonly id: string | undefined
  readonly summary: string | undefined
  readonly description: string | undefined
  readonly tags: readonly string[]
  readonly isDeprecated: boolean
  readonly parameters: readonly Parameter[]
  readonly body: RequestBody | undefined
  /** Schema of its JSON result, where there is exactly one. */
  readonly result: unknown
  /** Undefined where neither it nor the document says. */
  readonly security: Requirements | undefined
  /** Servers of its own, or of its path; undefined where those of the document hold. */
  readonly servers: unknown
}

/** Place and form of a credential. */
export type SecurityScheme =
  | { readonly kind: 'apiKey'; readonly in: ParameterLocation; readonly name: string }
  | { readonly kind: 'bearer' | 'basic' }

/** A document, read and sorted. */
export interface ApiDocument {
  readonly title: string
  readonly version: string
  readonly description: string | undefined
  readonly operations: readonly Operation[]
  /** Operations that cannot be tools, as `GET /path: why`. */
  readonly skipped: readonly string[]
  readonly servers: unknown
  readonly schemes: ReadonlyMap<string, SecurityScheme>
  readonly references: References
}

/** Follows references within a document. */
export interface References {
  /** The value itself, or what its `$ref` leads to. @throws Error where that is not in the document */
  follow(value: unknown): unknown
}

/** A member of plain data that is an object of its own. */
export type PlainObject = JsonObject
