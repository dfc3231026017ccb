import type { JsonObject } from '../../../src/plugin.ts'
import { isObject } from '../../../src/plugin.ts'
import type { AgentFacts, SessionRequest } from '../types.ts'
import { AgentFailure } from '../types.ts'
import type { SessionProcess } from './session.ts'
import { LiveSession } from './session.ts'

/** The one version that is spoken. */
const PROTOCOL = 1

/** Parameters of our `initialize`. */
export function initializeParams(version: string): JsonObject {
  return {
    protocolVersion: PROTOCOL,
    clientInfo: { name: 'tapgate', title: 'tapgate', version },
    clientCapabilities: {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: { configOptions: { boolean: {} } },
      elicitation: { form: {} },
    },
  }
}

/** Reads the agent's answer to `initialize`. @throws AgentFailure when it cannot be talked to */
export function readFacts(answer: unknown, agent: string): AgentFacts {
  if (!isObject(answer) || typeof answer.protocolVersion !== 'number')
    throw wrong(agent, 'answered initialize without a protocolVersion')
  if (answer.protocolVersion !== PROTOCOL)
    throw wrong(
      agent,
      `speaks version ${answer.protocolVersion} of the protocol, and version ${PROTOCOL} is spoken here`,
    )
  const can = objectOf(answer.agentCapabilities)
  const session = objectOf(can.sessionCapabilities)
  const info = objectOf(answer.agentInfo)
  return {
    name: wordOf(info.name),
    version: wordOf(info.version),
    protocol: answer.protocolVersion,
    canLoad: can.loadSession === true,
    canResume: isObject(session.resume),
    mcpHttp: objectOf(can.mcpCapabilities).http === true,
    authMethods: methodsOf(answer.authMethods),
  }
}

/** Tells a new process who pays, if that is configured. @throws AgentFailure */
export async function logIn(process: Pick<SessionProcess, 'settings' | 'facts' | 'demand'>): Promise<void> {
  const { auth, id, timeouts } = process.settings
  const { provider, method, meta } = auth ?? {}
  if (provider !== undefined) {
    const { id: providerId, api: apiType, url: baseUrl, headers } = provider
    const params = { providerId, apiType, baseUrl, headers: { ...headers } }
    await process.demand('auth', 'providers/set', params, timeouts.initializeMs)
  }
  if (method === undefined) return
  checkMethod(id, method, process.facts)
  const params = { methodId: method, ...(meta === undefined ? {} : { _meta: meta }) }
  await process.demand('auth', 'authenticate', params, timeouts.initializeMs)
}

/** A method that needs a terminal would wait for somebody who is not there. */
function checkMethod(agent: string, method: string, { authMethods }: AgentFacts): void {
  const found = authMethods.find(({ id }) => id === method)
  if (found !== undefined && found.type !== 'terminal') return
  const there = authMethods.filter(({ type }) => type !== 'terminal').map(({ id }) => id)
  const why = found === undefined ? 'has no such method' : 'needs a terminal for it'
  throw new AgentFailure(
    'auth',
    'auth',
    `agent "${agent}" cannot log in with "${method}": it ${why}; without a terminal it offers ${there.join(', ') || 'none'}`,
  )
}

function wrong(agent: string, what: string): AgentFailure {
  return new AgentFailure('protocol', 'initialize', `agent "${agent}" ${what}`)
}

function methodsOf(methods: unknown): AgentFacts['authMethods'] {
  if (!Array.isArray(methods)) return []
  return methods
    .slice(0, 32)
    .filter(isObject)
    .flatMap(({ id, name, type }) => {
      const known = wordOf(id)
      return known === undefined
        ? []
        : [{ id: known, name: wordOf(name) ?? known, type: wordOf(type) ?? 'agent' }]
    })
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}

function wordOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 256) : undefined
}

const MAX_ID = 1024

/** A new session, or one that is taken up again, set as configured. @throws AgentFailure; no session is left then */
export async function openSession(process: SessionProcess, wanted: SessionRequest): Promise<LiveSession> {
  try {
    const { session, opened } = await (wanted.resume === undefined
      ? create(process, wanted)
      : takeUp(process, wanted, wanted.resume))
    await choose(process, session, opened, wanted)
    return session
  } catch (error) {
    throw error instanceof AgentFailure ? withMethods(error, process.facts) : error
  }
}

interface Opened {
  readonly session: LiveSession
  readonly opened: JsonObject
}

async function create(process: SessionProcess, wanted: SessionRequest): Promise<Opened> {
  const answer = await demand(process, 'session/new', placeOf(process, wanted))
  const id = isObject(answer) ? answer.sessionId : undefined
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID)
    throw failure(process, 'protocol', 'it opened a session without an id')
  const session = new LiveSession(process, id, wanted.side, false)
  process.session = session
  return { session, opened: isObject(answer) ? answer : {} }
}

async function takeUp(process: SessionProcess, wanted: SessionRequest, id: string): Promise<Opened> {
  const { canResume, canLoad } = process.facts
  const methods = [...(canResume ? ['session/resume'] : []), ...(canLoad ? ['session/load'] : [])]
  let why = 'it can neither resume nor load sessions'
  for (const method of methods) {
    const session = new LiveSession(process, id, wanted.side, true)
    process.session = session
    try {
      const params = { sessionId: id, ...placeOf(process, wanted) }
      const answer = await demand(process, method, params)
      session.isReplaying = false
      return { session, opened: isObject(answer) ? answer : {} }
    } catch (error) {
      process.session = undefined
      if (!(error instanceof AgentFailure) || error.kind !== 'refused') throw error
      why = error.message
    }
  }
  throw failure(process, 'lost', why)
}

/** A server that the agent cannot reach over http is not given to it: some refuse the session then. */
function placeOf(process: SessionProcess, { cwd, mcpServers }: SessionRequest): JsonObject {
  const servers = process.facts.mcpHttp ? mcpServers : mcpServers.filter(({ type }) => type !== 'http')
  return { cwd, mcpServers: servers }
}

async function choose(
  process: SessionProcess,
  session: LiveSession,
  opened: JsonObject,
  wanted: SessionRequest,
): Promise<void> {
  const { id, mode, model, options } = process.settings
  const wished = { mode, model: wanted.model ?? model, options }
  session.ownMode = mode === undefined ? modeIn(opened) : undefined
  for (const { method, params } of settingsFor(id, opened, wished))
    await demand(process, method, { sessionId: session.id, ...params })
}

/** The mode of a session as it was opened. */
function modeIn({ configOptions, modes }: JsonObject): string | undefined {
  const option = optionsOf(configOptions).find(({ id, category }) => id === 'mode' || category === 'mode')
  const current = option === undefined ? olderModes(modes)?.current : option.current
  return typeof current === 'string' ? current.slice(0, MAX_MODE) : undefined
}

const MAX_MODE = 128

function demand(process: SessionProcess, method: string, params: JsonObject): Promise<unknown> {
  return process.demand('session', method, params, process.settings.timeouts.sessionMs)
}

function failure(process: SessionProcess, kind: AgentFailure['kind'], what: string): AgentFailure {
  return new AgentFailure(kind, 'session', `agent "${process.settings.id}": ${what}`)
}

/** The same failure, with the methods of a login. */
function withMethods(failure: AgentFailure, { authMethods }: AgentFacts): AgentFailure {
  if (failure.kind !== 'auth' || authMethods.length === 0) return failure
  const names = authMethods.map(({ id, type }) => (type === 'terminal' ? `${id} (in a terminal)` : id))
  const message = `${failure.message}; it knows these methods: ${names.join(', ')}`
  return new AgentFailure('auth', failure.phase, message)
}

/** Mode, model and options that a session is set to. */
interface Choices {
  readonly mode: string | undefined
  readonly model: string | undefined
  readonly options: Readonly<Record<string, string | boolean>>
}

/** One request that sets something. */
interface Setting {
  readonly method: string
  readonly params: JsonObject
}

/**
 * The requests that set a new session as wished, by what the agent said that it offers: `configOptions`, else the older
 * `modes` and `models`. What is so already is left alone. @throws AgentFailure `refused`, with what there is
 */
function settingsFor(agent: string, opened: JsonObject, wished: Choices): Setting[] {
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
