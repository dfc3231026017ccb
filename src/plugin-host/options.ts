import { gatewayError } from '../errors.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import { isPlain, mapAt } from '../util/plain.ts'
import type { Chosen } from './resolve.ts'

/** Checks a third-party plugin's options against its own schema, filling in its defaults. Built-ins were checked with the configuration. */
export async function checkOptions({ plugin, options, from }: Chosen): Promise<unknown> {
  if (plugin.schema === undefined || from === 'built-in') return options
  // Only who brings a schema pays for the validator.
  const { Ajv } = await import('ajv')
  const validate = compile(
    new Ajv({ allErrors: true, useDefaults: true, strict: false }),
    plugin.name,
    plugin.schema,
  )
  const value: unknown = options === undefined ? {} : structuredClone(options)
  if (validate(value)) return value
  const why = (validate.errors ?? [])
    .map(error => `${error.instancePath || '/'} ${error.message ?? 'is not valid'}`)
    .join('; ')
  throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: plugin.name, why })
}

/** Options that the plugin's schema marks as secret: `x-secret`, `writeOnly`, or of the format `password`. */
export function secretOptions({ plugin, options }: Chosen): string[] {
  return plugin.schema === undefined ? [] : secretsBy(plugin.schema, options)
}

function secretsBy(schema: unknown, value: unknown): string[] {
  if (!isPlain(schema)) return []
  const isMarked = schema['x-secret'] === true || schema.writeOnly === true || schema.format === 'password'
  if (typeof value === 'string') return isMarked ? [value] : []
  if (Array.isArray(value)) return value.flatMap(item => secretsBy(isMarked ? schema : schema.items, item))
  if (!isPlain(value)) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const own = isMarked ? schema : (mapAt(schema, 'properties')[key] ?? schema.additionalProperties)
    return secretsBy(own, inner)
  })
}

type Validate = ((value: unknown) => boolean) & {
  errors?: readonly { instancePath: string; message?: string }[] | null
}

function compile(
  ajv: { compile: (schema: JsonObject) => unknown },
  plugin: string,
  schema: JsonObject,
): Validate {
  try {
    return ajv.compile(schema) as Validate
  } catch (cause) {
    throw gatewayError('GW_PLUGIN_SETUP', {
      plugin,
      why: `its schema is no JSON Schema: ${String(cause)}`,
      cause,
    })
  }
}
