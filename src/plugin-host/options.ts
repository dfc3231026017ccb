import { gatewayError } from '../errors.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
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
