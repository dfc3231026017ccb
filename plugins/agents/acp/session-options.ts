import { isObject, type JsonObject } from '../../../src/plugin.ts'
import { AgentFailure } from '../types/agent.ts'

/** What a session is to be set to. */
export interface Choices {
  readonly mode: string | undefined
  readonly model: string | undefined
  readonly options: Readonly<Record<string, string | boolean>>
}

/** One request that sets something. */
export interface Setting {
  readonly method: string
  readonly params: JsonObject
}

/**
 * The requests that set a new session as wished, by what the agent said that it offers: `configOptions`, else the older
 * `modes` and `models`. What is so already is left alone. @throws AgentFailure `refused`, with what there is
 */
export function settingsFor(agent: string, opened: JsonObject, wished: Choices): Setting[] {
  const offered = optionsOf(opened.configOptions)
  return [
    ...oneOf(agent, 'mode', wished.mode, offered, olderModes(opened.modes)),
    ...oneOf(agent, 'model', wished.model, offered, olderModels(opened.models)),
    ...Object.entries(wished.options).flatMap(([id, value]) => {
      const option = offered.find(each => each.id === id)
      if (option === undefined)
        throw refusal(
          agent,
          `option "${id}"`,
          offered.map(each => each.id),
        )
      return setOption(agent, option, value)
    }),
  ]
}

interface Option {
  readonly id: string
  readonly category: unknown
  readonly current: unknown
  /** Undefined for a boolean. */
  readonly values: readonly string[] | undefined
}

/** The older way to say the same. */
interface Older {
  readonly current: unknown
  readonly ids: readonly string[]
  readonly method: string
  readonly key: string
}

function oneOf(
  agent: string,
  what: 'mode' | 'model',
  wished: string | undefined,
  offered: readonly Option[],
  older: Older | undefined,
): Setting[] {
  if (wished === undefined) return []
  const option = offered.find(({ id }) => id === what) ?? offered.find(({ category }) => category === what)
  if (option !== undefined) return setOption(agent, option, wished)
  if (older === undefined || !older.ids.includes(wished))
    throw refusal(agent, `${what} "${wished}"`, older?.ids ?? [])
  return older.current === wished ? [] : [{ method: older.method, params: { [older.key]: wished } }]
}

function setOption(agent: string, { id, current, values }: Option, value: string | boolean): Setting[] {
  const isKnown = values === undefined ? typeof value === 'boolean' : values.includes(String(value))
  if (!isKnown) throw refusal(agent, `value "${String(value)}" for ${id}`, values ?? ['true', 'false'])
  if (current === value) return []
  const type = values === undefined ? { type: 'boolean' } : {}
  return [{ method: 'session/set_config_option', params: { configId: id, ...type, value } }]
}

function refusal(agent: string, what: string, offered: readonly string[]): AgentFailure {
  const there = offered.length === 0 ? 'it offers none' : `it offers ${offered.slice(0, 32).join(', ')}`
  return new AgentFailure('refused', 'session', `agent "${agent}" has no ${what}; ${there}`)
}

function optionsOf(written: unknown): Option[] {
  return objects(written).flatMap(({ id, category, currentValue, type, options }) => {
    if (typeof id !== 'string') return []
    const values = type === 'boolean' ? undefined : valuesOf(options)
    return [{ id, category, current: currentValue, values }]
  })
}

/** Values stand in one list, or in groups. */
function valuesOf(options: unknown): string[] {
  return objects(options).flatMap(({ value, options: group }) =>
    typeof value === 'string' ? [value] : Array.isArray(group) ? valuesOf(group) : [],
  )
}

function olderModes(modes: unknown): Older | undefined {
  if (!isObject(modes)) return undefined
  const ids = objects(modes.availableModes).map(({ id }) => String(id))
  return { current: modes.currentModeId, ids, method: 'session/set_mode', key: 'modeId' }
}

function olderModels(models: unknown): Older | undefined {
  if (!isObject(models)) return undefined
  const ids = objects(models.availableModels).map(({ modelId }) => String(modelId))
  return { current: models.currentModelId, ids, method: 'session/set_model', key: 'modelId' }
}

function objects(list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.slice(0, 256).filter(isObject) : []
}
