import { existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, resolve, isAbsolute, relative } from 'node:path'
import * as generated from './generated/validator.gen.ts'
import type { Finding } from '../util/finding.ts'
import { parsePointer, appendPointer } from '../util/finding.ts'
import { deepFreeze, isPlain } from '../util/plain-data.ts'
import { getPlatform } from '../util/platform.ts'
import { Secrets } from '../util/secrets.ts'
import type { Feature } from './check-config.ts'
import { checkConfig } from './check-config.ts'
import { checkTls } from './checks/tls.ts'
import { checkExisting } from './checks/upstreams.ts'
import type { Config } from './config.gen.ts'
import type { SchemaError } from './schema-messages.ts'
import { explainSchemaError } from './schema-messages.ts'
import type { Problem, ConfigPositions } from './problem.ts'
import { hasErrors, sortProblems, invalidConfig, locateProblem } from './problem.ts'
import { collectSecrets, redact } from './secrets.ts'
import type { Located, ValueOrigin, Tree } from './source/tree.ts'
import { inferTypes } from './source/infer-types.ts'
import { locateValues } from './source/tree.ts'

interface Validator {
  (value: unknown): boolean
  errors?: readonly SchemaError[] | null
}

/** Validates against the schema and fills in defaults, in place. */
export function validate(value: unknown): Finding[] {
  const check = generated.validate as unknown as Validator
  if (check(value)) return []
  const errors = (check.errors ?? []).map(error => addQuotedParts(error, value))
  const wrongType = new Set(errors.filter(error => error.keyword === 'type').map(error => error.instancePath))
  return errors.flatMap(error => {
    if (error.keyword !== 'type' && wrongType.has(error.instancePath)) return []
    return explainSchemaError(error) ?? []
  })
}

let quoted: unknown

/** Adds the violated schema part and the invalid value to an error, for its message. */
function addQuotedParts(error: SchemaError, value: unknown): SchemaError {
  const keys = parsePointer(error.schemaPath.slice(1))
  const parent = resolveReference(keys.slice(0, -1).reduce(getSchemaChild, parseSchema()), error.keyword)
  const data = parsePointer(error.instancePath).reduce(getChild, value)
  return {
    ...error,
    ...(isPlain(parent) ? { parentSchema: parent, schema: parent[error.keyword] } : {}),
    data: error.propertyName ?? data,
  }
}

function parseSchema(): unknown {
  return (quoted ??= JSON.parse(generated.SCHEMA))
}

function getSchemaChild(at: unknown, key: string): unknown {
  return getChild(resolveReference(at, key), key)
}

/** Follows `$ref` if the key is not in this schema part. */
function resolveReference(at: unknown, key: string): unknown {
  if (!isPlain(at) || Object.hasOwn(at, key) || typeof at['$ref'] !== 'string') return at
  return resolveReference(parsePointer(at['$ref'].slice(1)).reduce(getChild, parseSchema()), key)
}

function getChild(at: unknown, key: string): unknown {
  return typeof at === 'object' && at !== null && Object.hasOwn(at, key)
    ? (at as Readonly<Record<string, unknown>>)[key]
    : undefined
}

/** A validated configuration with its sources. */
export interface LoadedConfig {
  /** Deeply frozen, with defaults. */
  readonly config: Config
  /** Main file; undefined if created from a value. */
  readonly file: string | undefined
  /** Environment whose file was merged over it. */
  readonly env?: string | undefined
  /** All files read. */
  readonly files: readonly string[]
  /** Base for relative paths. */
  readonly directory: string
  /** Value origins, by JSON pointer. */
  readonly origins: ReadonlyMap<string, ValueOrigin>
  /** Written key positions, by JSON pointer. */
  readonly keys: ReadonlyMap<string, ValueOrigin>
  /** Plugins configured as a top-level section. */
  readonly sections: ReadonlySet<string>
  /** Values to redact. */
  readonly secrets: readonly string[]
  readonly warnings: readonly Problem[]
}

/** A parsed configuration before validation. */
interface ConfigDraft {
  readonly tree: Tree
  /** Plugins configured as a top-level section. */
  readonly sections: ReadonlySet<string>
  readonly file: string | undefined
  readonly env?: string | undefined
  readonly files: readonly string[]
  readonly directory: string
  readonly secrets: readonly string[]
  readonly broken: ReadonlySet<string>
  readonly problems: readonly Problem[]
  /** Plugins with configuration checks. */
  readonly features: readonly Feature[]
  readonly validate?: typeof validate
  /** PATH; undefined if unknown. */
  readonly searchPath?: string | undefined
}

/** Validates, fills in defaults and freezes; throws all problems together. */
export function finishConfig(draft: ConfigDraft): LoadedConfig {
  const located = locateValues(inferTypes(draft.tree))
  const isFile = (path: string) =>
    statSync(resolve(draft.directory, path), { throwIfNoEntry: false })?.isFile() ?? false
  const findings = [...located.empty.map(createEmptyFinding), ...(draft.validate ?? validate)(located.value)]
  checkConfig(located.value, draft.features, isFile, finding => findings.push(finding))
  checkTls(
    located.value,
    path => readFileSync(resolve(draft.directory, path)),
    finding => findings.push(finding),
  )
  if (draft.file !== undefined)
    checkExisting(
      located.value,
      {
        path: path => existsSync(resolve(draft.directory, path)),
        program: (name, own) => isOnPath(name, own ?? draft.searchPath, draft.directory),
      },
      finding => findings.push(finding),
    )

  const secrets = [...new Set([...draft.secrets, ...collectSecrets(located.value)])]
  const problems = [
    ...draft.problems,
    ...locateFindings(findings, draft.broken, secrets, { ...located, sections: draft.sections }),
  ]
  if (hasErrors(problems)) throw invalidConfig(problems)
  const { file, env, files, directory } = draft
  const config = deepFreeze(located.value) as Config
  let origins: ReadonlyMap<string, ValueOrigin> | undefined
  return {
    config,
    file,
    env,
    files,
    directory,
    secrets,
    // Lazy, as it costs as much as all checks.
    get origins() {
      return (origins ??= listOrigins(located))
    },
    keys: located.keys,
    sections: draft.sections,
    warnings: sortProblems(problems),
  }
}

/** Windows resolves more file names, so it is not checked there. */
function isOnPath(name: string, searchPath: string | undefined, directory: string): boolean {
  if (searchPath === undefined || !getPlatform().hasModes) return true
  return searchPath.split(delimiter).some(folder => existsSync(resolve(directory, folder, name)))
}

function createEmptyFinding(pointer: string): Finding {
  return {
    pointer,
    message: 'empty value does not remove an inherited value',
    hint: 'set a value or remove the key',
    severity: 'warning',
    on: 'key',
  }
}

function locateFindings(
  findings: readonly Finding[],
  broken: ReadonlySet<string>,
  secrets: readonly string[],
  written: ConfigPositions,
): Problem[] {
  if (findings.length === 0) return []
  const { hide } = new Secrets(secrets)
  return findings
    .filter(finding => !broken.has(finding.pointer))
    .map(finding => ({
      ...finding,
      message: hide(finding.message),
      hint: finding.hint && hide(finding.hint),
    }))
    .map(finding => locateProblem(written, finding))
}

function listOrigins({ value, origins }: Located): ReadonlyMap<string, ValueOrigin> {
  const all = new Map<string, ValueOrigin>()
  const visit = (at: unknown, pointer: string): void => {
    all.set(pointer, origins.get(pointer) ?? { from: 'default' })
    if (!Array.isArray(at) && !isPlain(at)) return
    for (const [key, inner] of Object.entries(at)) visit(inner, appendPointer(pointer, key))
  }
  visit(value, '')
  return all
}

/** Replaces the configuration; origins remain lazy, as they are expensive. */
export function withConfig(source: LoadedConfig, config: LoadedConfig['config']): LoadedConfig {
  const { file, env, files, directory, secrets, keys, sections, warnings } = source
  return {
    ...{ config, file, env, files, directory, secrets, keys, sections, warnings },
    get origins() {
      return source.origins
    },
  }
}

/** A value with its origin. */
export interface DescribedValue {
  readonly pointer: string
  /** `***` for secrets. */
  readonly value: unknown
  /** `gateway.yaml:3:9`, `--set`, `default` or `value`. */
  readonly origin: string
}

/** A redacted configuration for people and programs. */
export interface DescribedConfig {
  readonly file: string | undefined
  readonly files: readonly string[]
  /** Effective configuration, redacted. */
  readonly config: unknown
  /** The same without defaults. */
  readonly written: unknown
  readonly origins: readonly DescribedValue[]
  readonly warnings: readonly Problem[]
}

/** Describes a configuration with origins and warnings, redacted. */
export function describeConfig(loaded: LoadedConfig, cwd: string): DescribedConfig {
  const { file, files, warnings } = loaded
  const config = redact(loaded.config, loaded.secrets)
  return {
    ...{ file, files, warnings, config },
    written: omitDefaults(config, '', loaded.origins),
    origins: describeOrigins(loaded, cwd),
  }
}

/** Copies the values that have an origin, with their parents; undefined if there is none. */
function omitDefaults(value: unknown, pointer: string, origins: LoadedConfig['origins']): unknown {
  const isWritten = (origins.get(pointer)?.from ?? 'default') !== 'default'
  const omitIn = (child: unknown, key: string | number): unknown =>
    omitDefaults(child, appendPointer(pointer, key), origins)
  if (Array.isArray(value)) return isWritten ? value.map(omitIn) : undefined
  if (!isPlain(value)) return isWritten ? value : undefined
  const entries = Object.entries(value).map(([key, child]) => [key, omitIn(child, key)] as const)
  const kept = entries.filter(([, child]) => child !== undefined)
  return isWritten || kept.length > 0 ? Object.fromEntries(kept) : undefined
}

/** Lists every value with its origin, in order. */
export function describeOrigins(loaded: LoadedConfig, cwd: string): DescribedValue[] {
  const described: DescribedValue[] = []
  const { hide } = new Secrets(loaded.secrets)
  const visit = (value: unknown, pointer: string): void => {
    const inner = isPlain(value) ? Object.entries(value) : Array.isArray(value) ? [...value.entries()] : []
    for (const [key, child] of inner) visit(child, appendPointer(pointer, key))
    if (inner.length === 0)
      described.push({ pointer, value, origin: hide(formatOrigin(loaded.origins.get(pointer), cwd)) })
  }
  visit(redact(loaded.config, loaded.secrets), '')
  return described
}

function formatOrigin(origin: ValueOrigin | undefined, cwd: string): string {
  if (origin?.from === 'set') return '--set'
  if (origin?.from !== 'file') return origin?.from ?? 'default'
  const displayPath = isAbsolute(origin.file) ? relative(cwd, origin.file) : origin.file
  return `${displayPath}:${origin.line}:${origin.col}`
}
