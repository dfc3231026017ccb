import { existsSync, readFileSync, statSync } from 'node:fs'
import { delimiter, resolve } from 'node:path'
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
import * as generated from './generated/validator.gen.ts'
import type { SchemaError } from './messages.ts'
import { explainSchemaError } from './messages.ts'
import type { Problem, ConfigPositions } from './problem.ts'
import { hasErrors, sortProblems, invalidConfig, locateProblem } from './problem.ts'
import { collectSecrets } from './secrets.ts'
import type { Located, ValueOrigin, Tree } from './source/tree.ts'
import { locateValues } from './source/tree.ts'

interface Validator {
  (value: unknown): boolean
  errors?: readonly SchemaError[] | null
}

/** Checks plain data against the schema and fills in defaults, in place. */
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

/** The same error with what its message quotes: the part of the schema that was broken, and the value that broke it. */
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

/** The part of the schema that has a key: this one, or the one that it refers to. */
function resolveReference(at: unknown, key: string): unknown {
  if (!isPlain(at) || Object.hasOwn(at, key) || typeof at['$ref'] !== 'string') return at
  return resolveReference(parsePointer(at['$ref'].slice(1)).reduce(getChild, parseSchema()), key)
}

function getChild(at: unknown, key: string): unknown {
  return typeof at === 'object' && at !== null && Object.hasOwn(at, key)
    ? (at as Readonly<Record<string, unknown>>)[key]
    : undefined
}

/** A configuration that is ready to be run, and where it came from. */
export interface LoadedConfig {
  /** Deep-frozen, with every default filled in. */
  readonly config: Config
  /** The file it began with; undefined when it came as a value. */
  readonly file: string | undefined
  /** Every file that was read for it. */
  readonly files: readonly string[]
  /** Directory that relative paths in it are relative to. */
  readonly directory: string
  /** Origin of each value, by JSON pointer. */
  readonly origins: ReadonlyMap<string, ValueOrigin>
  /** Position of each key that was written down, by JSON pointer. */
  readonly keys: ReadonlyMap<string, ValueOrigin>
  /** Plugins whose options stand at the top, as a section. */
  readonly sections: ReadonlySet<string>
  /** Values that must not be shown. */
  readonly secrets: readonly string[]
  readonly warnings: readonly Problem[]
}

/** A tree that has been read, with what was noticed on the way. */
interface ConfigDraft {
  readonly tree: Tree
  /** Plugins whose options stand at the top, as a section. */
  readonly sections: ReadonlySet<string>
  readonly file: string | undefined
  readonly files: readonly string[]
  readonly directory: string
  readonly secrets: readonly string[]
  readonly broken: ReadonlySet<string>
  readonly problems: readonly Problem[]
  /** Plugins that look at it, too. */
  readonly features: readonly Feature[]
  /** Checks against the schema, and fills in defaults, in place. */
  readonly validate?: typeof validate
  /** Search path of programs; undefined when it is not known. */
  readonly searchPath?: string | undefined
}

/** Validates, checks, fills in defaults and freezes; throws every problem at once. */
export function finishConfig(draft: ConfigDraft): LoadedConfig {
  const located = locateValues(draft.tree)
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
  const { file, files, directory } = draft
  const config = deepFreeze(located.value) as Config
  let origins: ReadonlyMap<string, ValueOrigin> | undefined
  return {
    config,
    file,
    files,
    directory,
    secrets,
    // For those who ask: it is as much work as all checks together.
    get origins() {
      return (origins ??= listOrigins(located))
    },
    keys: located.keys,
    sections: draft.sections,
    warnings: sortProblems(problems),
  }
}

/** Windows has more names for a program than its own, so nothing is said there. */
function isOnPath(name: string, searchPath: string | undefined, directory: string): boolean {
  if (searchPath === undefined || !getPlatform().hasModes) return true
  return searchPath.split(delimiter).some(folder => existsSync(resolve(directory, folder, name)))
}

function createEmptyFinding(pointer: string): Finding {
  return {
    pointer,
    message: 'is empty and removes nothing',
    hint: 'give it a value or leave it out',
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
  const { hide: shown } = new Secrets(secrets)
  return findings
    .filter(finding => !broken.has(finding.pointer))
    .map(finding => ({
      ...finding,
      message: shown(finding.message),
      hint: finding.hint && shown(finding.hint),
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
