import type { JsonObject } from '../../../src/plugin.ts'
import { filterObjects, isObject, readMap } from '../../../src/plugin.ts'
import type { AgentSettings } from '../settings.ts'
import type { AgentFacts, SessionRequest } from '../types.ts'
import { AgentFailure } from '../types.ts'

/** The supported ACP version. */
const PROTOCOL = 1

/** Startup phases; each has its own time limit. */
export type StartPhase = 'initialize' | 'auth' | 'session'

/** Sends a request that must be answered within the phase's time limit. @throws AgentFailure */
export type SendRequest = (phase: StartPhase, method: string, params: JsonObject) => Promise<unknown>

/** Initializes a new process. @throws AgentFailure if it is incompatible */
export async function initialize(send: SendRequest, settings: AgentSettings, version: string): Promise<AgentFacts> {
  const answer = await send('initialize', 'initialize', {
    protocolVersion: PROTOCOL,
    clientInfo: { name: 'tapgate', title: 'tapgate', version },
    clientCapabilities: {
      fs: { readTextFile: false, writeTextFile: false },
      terminal: false,
      session: { configOptions: { boolean: {} } },
      elicitation: { form: {} },
    },
  })
  return parseFacts(answer, settings.id)
}

function parseFacts(answer: unknown, agent: string): AgentFacts {
  if (!isObject(answer) || typeof answer.protocolVersion !== 'number')
    throw createSetupFailure(agent, 'returned no protocolVersion from initialize')
  if (answer.protocolVersion !== PROTOCOL)
    throw createSetupFailure(
      agent,
      `uses protocol version ${answer.protocolVersion}, but only version ${PROTOCOL} is supported`,
    )
  const can = readMap(answer.agentCapabilities)
  const session = readMap(can.sessionCapabilities)
  const info = readMap(answer.agentInfo)
  return {
    name: toWord(info.name),
    version: toWord(info.version),
    protocol: answer.protocolVersion,
    canLoad: can.loadSession === true,
    canResume: isObject(session.resume),
    mcpHttp: readMap(can.mcpCapabilities).http === true,
    authMethods: parseAuthMethods(answer.authMethods),
  }
}

/** Authenticates a new process if a method is configured. @throws AgentFailure */
export async function logIn(send: SendRequest, { auth, id }: AgentSettings, facts: AgentFacts): Promise<void> {
  const { provider, method, meta } = auth ?? {}
  if (provider !== undefined) {
    const { id: providerId, api: apiType, url: baseUrl, headers } = provider
    await send('auth', 'providers/set', { providerId, apiType, baseUrl, headers: { ...headers } })
  }
  if (method === undefined) return
  checkAuthMethod(id, method, facts)
  await send('auth', 'authenticate', { methodId: method, ...(meta === undefined ? {} : { _meta: meta }) })
}

/** Rejects methods that need a terminal: the login would block. */
function checkAuthMethod(agent: string, method: string, { authMethods }: AgentFacts): void {
  const authMethod = authMethods.find(({ id }) => id === method)
  if (authMethod !== undefined && authMethod.type !== 'terminal') return
  const usableMethods = authMethods.filter(({ type }) => type !== 'terminal').map(({ id }) => id)
  const reason = authMethod === undefined ? 'it does not offer this method' : 'this method requires a terminal'
  throw new AgentFailure(
    'auth',
    'auth',
    `agent "${agent}" cannot log in with "${method}": ${reason}; methods that work without a terminal: ${usableMethods.join(', ') || 'none'}`,
  )
}

function createSetupFailure(agent: string, message: string): AgentFailure {
  return new AgentFailure('protocol', 'initialize', `agent "${agent}" ${message}`)
}

function parseAuthMethods(methods: unknown): AgentFacts['authMethods'] {
  return filterObjects(methods).flatMap(({ id, name, type }) => {
    const methodId = toWord(id)
    return methodId === undefined
      ? []
      : [{ id: methodId, name: toWord(name) ?? methodId, type: toWord(type) ?? 'agent' }]
  })
}

function toWord(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 256) : undefined
}

const MAX_ID = 1024

interface SessionOrigin {
  readonly settings: AgentSettings
  readonly facts: AgentFacts
  readonly request: SessionRequest
}

/** Creates or resumes a session and applies the configured mode, model and options. @throws AgentFailure */
export async function openSession(
  send: SendRequest,
  origin: SessionOrigin,
): Promise<{ readonly id: string; readonly ownMode: string | undefined }> {
  const { settings, facts, request } = origin
  try {
    const { id, opened } = await (request.resume === undefined
      ? createSession(send, origin)
      : resumeSession(send, origin, request.resume))
    const choices = { ...settings, model: request.model ?? settings.model }
    for (const { method, params } of planSettings(settings.id, opened, choices))
      await send('session', method, { sessionId: id, ...params })
    return { id, ownMode: settings.mode === undefined ? readMode(opened) : undefined }
  } catch (error) {
    throw error instanceof AgentFailure ? addAuthMethods(error, facts) : error
  }
}

interface OpenedSession {
  readonly id: string
  readonly opened: JsonObject
}

async function createSession(send: SendRequest, origin: SessionOrigin): Promise<OpenedSession> {
  const opened = readMap(await send('session', 'session/new', buildSessionParams(origin)))
  const id = opened.sessionId
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID)
    throw createFailure(origin, 'protocol', 'opened a session without an id')
  return { id, opened }
}

async function resumeSession(send: SendRequest, origin: SessionOrigin, id: string): Promise<OpenedSession> {
  const { canResume, canLoad } = origin.facts
  let reason = 'supports neither resuming nor loading sessions'
  for (const method of [...(canResume ? ['session/resume'] : []), ...(canLoad ? ['session/load'] : [])]) {
    try {
      const answer = await send('session', method, { sessionId: id, ...buildSessionParams(origin) })
      return { id, opened: readMap(answer) }
    } catch (error) {
      if (!(error instanceof AgentFailure) || error.kind !== 'refused') throw error
      reason = error.message
    }
  }
  throw createFailure(origin, 'lost', reason)
}

/** Omits HTTP servers if the agent cannot connect to them: some agents reject the session otherwise. */
function buildSessionParams({ facts, request: { cwd, mcpServers } }: SessionOrigin): JsonObject {
  return { cwd, mcpServers: facts.mcpHttp ? mcpServers : mcpServers.filter(({ type }) => type !== 'http') }
}

function createFailure({ settings: { id } }: SessionOrigin, kind: AgentFailure['kind'], message: string): AgentFailure {
  return new AgentFailure(kind, 'session', `agent "${id}": ${message}`)
}

/** Reads the session's initial mode. */
function readMode({ configOptions, modes }: JsonObject): string | undefined {
  const option = parseOptions(configOptions).find(({ id, category }) => id === 'mode' || category === 'mode')
  const current = option === undefined ? parseLegacyList(modes, 'mode')?.current : option.current
  return typeof current === 'string' ? current.slice(0, MAX_MODE) : undefined
}

const MAX_MODE = 128

/** Adds the available login methods to the message. */
function addAuthMethods(failure: AgentFailure, { authMethods }: AgentFacts): AgentFailure {
  if (failure.kind !== 'auth' || authMethods.length === 0) return failure
  const names = authMethods.map(({ id, type }) => (type === 'terminal' ? `${id} (in a terminal)` : id))
  const message = `${failure.message}; login methods: ${names.join(', ')}`
  return new AgentFailure('auth', failure.phase, message)
}

/** Requested mode, model and options. */
interface SessionChoices {
  readonly mode: string | undefined
  readonly model: string | undefined
  readonly options: Readonly<Record<string, string | boolean>>
}

/** A request that changes one setting. */
interface Setting {
  readonly method: string
  readonly params: JsonObject
}

/**
 * Plans the requests that configure a new session from the offered `configOptions`, or from the older `modes` and
 * `models`. Skips values that are already set. @throws AgentFailure `refused` with the offered values
 */
function planSettings(agent: string, opened: JsonObject, wished: SessionChoices): Setting[] {
  const offered = parseOptions(opened.configOptions)
  return [
    ...planChoice(agent, 'mode', wished.mode, offered, parseLegacyList(opened.modes, 'mode')),
    ...planChoice(agent, 'model', wished.model, offered, parseLegacyList(opened.models, 'model')),
    ...Object.entries(wished.options).flatMap(([id, value]) => {
      const option = offered.find(each => each.id === id)
      if (option === undefined)
        throw createRefusal(
          agent,
          `option "${id}"`,
          offered.map(each => each.id),
        )
      return planOption(agent, option, value)
    }),
  ]
}

interface SessionOption {
  readonly id: string
  readonly category: unknown
  readonly current: unknown
  /** Undefined for a boolean option. */
  readonly values: readonly string[] | undefined
}

/** A mode or model list in the older format. */
interface LegacyOption {
  readonly current: unknown
  readonly ids: readonly string[]
  readonly method: string
  readonly key: string
}

function planChoice(
  agent: string,
  settingName: 'mode' | 'model',
  wished: string | undefined,
  offered: readonly SessionOption[],
  older: LegacyOption | undefined,
): Setting[] {
  if (wished === undefined) return []
  const option =
    offered.find(({ id }) => id === settingName) ?? offered.find(({ category }) => category === settingName)
  if (option !== undefined) return planOption(agent, option, wished)
  if (older === undefined || !older.ids.includes(wished))
    throw createRefusal(agent, `${settingName} "${wished}"`, older?.ids ?? [])
  return older.current === wished ? [] : [{ method: older.method, params: { [older.key]: wished } }]
}

function planOption(agent: string, { id, current, values }: SessionOption, value: string | boolean): Setting[] {
  const isKnown = values === undefined ? typeof value === 'boolean' : values.includes(String(value))
  if (!isKnown) throw createRefusal(agent, `value "${String(value)}" for ${id}`, values ?? ['true', 'false'])
  if (current === value) return []
  const type = values === undefined ? { type: 'boolean' } : {}
  return [{ method: 'session/set_config_option', params: { configId: id, ...type, value } }]
}

function createRefusal(agent: string, requested: string, offered: readonly string[]): AgentFailure {
  const alternatives = offered.length === 0 ? 'none available' : `available: ${offered.slice(0, 32).join(', ')}`
  return new AgentFailure('refused', 'session', `agent "${agent}" does not offer ${requested}; ${alternatives}`)
}

function parseOptions(written: unknown): SessionOption[] {
  return filterObjects(written).flatMap(({ id, category, currentValue, type, options }) => {
    if (typeof id !== 'string') return []
    const values = type === 'boolean' ? undefined : parseValues(options)
    return [{ id, category, current: currentValue, values }]
  })
}

/** Values are either a flat list or grouped. */
function parseValues(options: unknown): string[] {
  return filterObjects(options).flatMap(({ value, options: group }) =>
    typeof value === 'string' ? [value] : Array.isArray(group) ? parseValues(group) : [],
  )
}

/** Parses a list of the older format, such as `modes` with `availableModes` and `currentModeId`. */
function parseLegacyList(list: unknown, name: 'mode' | 'model'): LegacyOption | undefined {
  if (!isObject(list)) return undefined
  const [all, member] = name === 'mode' ? ['availableModes', 'id'] : ['availableModels', 'modelId']
  const ids = filterObjects(list[all]).map(each => String(each[member]))
  const current = list[name === 'mode' ? 'currentModeId' : 'currentModelId']
  return { current, ids, method: `session/set_${name}`, key: `${name}Id` }
}
