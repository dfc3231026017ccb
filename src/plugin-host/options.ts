import type { SchemaError } from '../config/schema-messages.ts'
import { isSecretSchema } from '../config/schema-messages.ts'
import type { Config } from '../api/index.ts'
import type { Problem } from '../config/problem.ts'
import type { Finding } from '../util/finding.ts'
import { getErrorMessage } from '../errors/errors.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isPlain, readMap } from '../util/plain-data.ts'
import type { LocateFinding } from './plugin-failure.ts'
import { createUnusablePluginError } from './plugin-failure.ts'
import type { ChosenPlugin } from './resolve.ts'

/**
 * Validates an external plugin's options against its own schema and adds defaults. Built-in plugins are
 * validated with the configuration.
 */
export async function checkPluginOptions(chosen: ChosenPlugin, locate: LocateFinding): Promise<unknown> {
  const { plugin, options, from } = chosen
  if (plugin.schema === undefined || from === 'built-in') return options
  const validate = await createValidator(chosen, plugin.schema, locate)
  const value: unknown = options === undefined ? {} : structuredClone(options)
  if (validate(value)) return value
  const findings = await explainErrors(validate.errors ?? [], `${chosen.pointer}/options`)
  throw createUnusablePluginError('GW_PLUGIN_OPTIONS', plugin.name, findings.map(locate))
}

/**
 * Runs an external plugin's configuration check and passes its findings to `warn`. @throws GatewayError
 * GW_PLUGIN_OPTIONS
 */
export function runPluginCheck(
  { plugin, from, pointer }: ChosenPlugin,
  options: unknown,
  config: Config,
  locate: LocateFinding,
  warn: (problem: Problem) => void,
): void {
  if (plugin.check === undefined || from === 'built-in') return
  const problems: Problem[] = []
  const names = { upstreams: Object.keys(config.upstreams), listeners: Object.keys(config.listeners) }
  const own = { options: options as never, pointer: pointer === '' ? '' : `${pointer}/options`, names }
  try {
    plugin.check(config, finding => problems.push(locate(finding)), own)
  } catch (cause) {
    const message = `check failed: ${getErrorMessage(cause)}`
    throw createUnusablePluginError('GW_PLUGIN_SETUP', plugin.name, [locate({ pointer, message, on: 'key' })], cause)
  }
  const wrong = problems.filter(({ severity }) => severity === 'error')
  if (wrong.length > 0) throw createUnusablePluginError('GW_PLUGIN_OPTIONS', plugin.name, problems)
  problems.forEach(warn)
}

/** Lists options that the plugin's schema marks as secret: `x-secret`, `writeOnly`, or format `password`. */
export function listSecretOptions({ plugin, options }: ChosenPlugin): string[] {
  return plugin.schema === undefined ? [] : findSecrets(plugin.schema, options)
}

function findSecrets(schema: unknown, value: unknown): string[] {
  if (!isPlain(schema)) return []
  const isMarked = isSecretSchema(schema)
  if (typeof value === 'string') return isMarked ? [value] : []
  if (Array.isArray(value)) return value.flatMap(item => findSecrets(isMarked ? schema : schema.items, item))
  if (!isPlain(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const own = isMarked ? schema : (readMap(schema, 'properties')[key] ?? schema.additionalProperties)
    return findSecrets(own, inner)
  })
}

/** The Ajv functions in use. */
interface ValidateFunction {
  (value: unknown): boolean
  readonly errors?: readonly SchemaError[] | null
}

/** Validators by schema: reloads validate the same options again, and compiling is expensive. */
const validators = new WeakMap<JsonObject, ValidateFunction>()

async function createValidator(
  { plugin, pointer }: ChosenPlugin,
  schema: JsonObject,
  locate: LocateFinding,
): Promise<ValidateFunction> {
  const cached = validators.get(schema)
  if (cached !== undefined) return cached
  // Load the validator only for plugins with a schema.
  const { Ajv } = await import('ajv')
  const ajv = new Ajv({ allErrors: true, useDefaults: true, strict: false, verbose: true })
  try {
    const made = ajv.compile(schema) as ValidateFunction
    validators.set(schema, made)
    return made
  } catch (cause) {
    const message = `invalid JSON Schema: ${getErrorMessage(cause)}`
    throw createUnusablePluginError('GW_PLUGIN_SETUP', plugin.name, [locate({ pointer, message, on: 'key' })], cause)
  }
}

/** Describes errors like the configuration's own schema. */
async function explainErrors(errors: readonly SchemaError[], pointer: string): Promise<readonly Finding[]> {
  const { explainSchemaError } = await import('../config/schema-messages.ts')
  const findings = errors.map(explainSchemaError).filter(finding => finding !== undefined)
  const some = findings.length > 0 ? findings : [{ pointer: '', message: 'invalid value' }]
  return some.map(finding => ({ ...finding, pointer: `${pointer}${finding.pointer}` }))
}
