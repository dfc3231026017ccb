import { setMaxListeners } from 'node:events'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config, Exchange, JsonObject, PluginApi, PluginHooks, UpstreamConfig } from '../../src/plugin.ts'
import { ANONYMOUS, gatewayError, GatewayError, getErrorMessage, principalKey, suggestHint } from '../../src/plugin.ts'
import { resolveProgramFile } from './acp/agent-host.ts'
import { findRootOfGateway } from './allowed-paths.ts'
import { CALLBACK_LISTENER, CALLBACK_SPEC, CallbackTokens, openCallback } from './callback.ts'
import { agentError } from './errors.ts'
import type { McpDeps } from './mcp/callers.ts'
import { parseRequest } from './mcp/call-tool.ts'
import { INPUTS, MAX_WAIT_MS, validateArguments } from './mcp/schemas.ts'
import { formatStructured, parseAnswer } from './mcp/task-results.ts'
import { AgentsUpstream } from './mcp/upstream.ts'
import type { AgentRuntime } from './runtime.ts'
import { LocalRuntime } from './runtime.ts'
import { createRouter } from './scheduling.ts'
import type { AgentsConfig, AgentSettings } from './settings.ts'
import { resolveAgents } from './settings.ts'
import type { TaskService } from './tasks/service.ts'
import type { TaskCaller } from './types.ts'

/** Events per response. */
const MAX_EVENTS = 100
/** Default tasks per response. */
const MAX_TASKS = 100
/** Bytes per response. */
const MAX_PAGE = 64 * 1024
/** Caller for the control socket; shares its tasks with unauthenticated clients. */
const OWNER: TaskCaller = {
  owner: principalKey(ANONYMOUS),
  issuer: ANONYMOUS.issuer,
  subject: ANONYMOUS.subject,
  parent: undefined,
  identity: { principal: ANONYMOUS, profile: undefined },
}

/**
 * Registers the owner's verbs `agents.list`, `probe`, `run`, `tasks`, `status`, `output`, `reply` and
 * `cancel`. The last five access tasks of all callers.
 */
function registerVerbs(hooks: PluginHooks, parts: McpDeps): void {
  const { control } = hooks
  control.for('agents.list').tap({ readOnly: true }, () => ({ agents: parts.service().agents() }))
  control.for('agents.probe').tap(async ({ agents }) => {
    const ids = parseAgentIds(agents)
    for (const id of ids ?? []) checkAgent(id, parts)
    return { agents: await parts.service().probe(ids) }
  })
  control.for('agents.run').tap(async params => {
    checkAgent(params.agent, parts)
    const problem = validateArguments(params, INPUTS.delegate_task)
    if (problem !== undefined) throw createParamsError('agents.run', problem)
    const request = { ...parseRequest(params), background: true }
    const view = await parts.service().delegate(request, OWNER)
    return formatStructured(view)
  })
  control.for('agents.tasks').tap({ readOnly: true }, ({ after, limit = MAX_TASKS }) => {
    const page = { after: typeof after === 'string' ? after : undefined, limit: Number(limit) || MAX_TASKS }
    return { tasks: parts.service().listAll(page) }
  })
  registerTaskVerbs(control, parts)
}

type TaskVerb = (task: string, owner: string, params: JsonObject) => JsonObject | Promise<JsonObject>

/** Registers verbs for one task, `task`, of any owner. */
function registerTaskVerbs(control: PluginHooks['control'], { service }: McpDeps): void {
  const register = (verb: string, readOnly: boolean, run: TaskVerb): void =>
    control.for(verb).tap({ readOnly }, params => {
      const { task } = params
      if (typeof task !== 'string') throw createParamsError(verb, '"task" must be a task id')
      const owner = service().findOwner(task)
      if (owner === undefined) throw agentError('GW_AGENT_TASK_UNKNOWN', { task })
      return run(task, owner, params)
    })
  register('agents.status', true, async (task, owner, { since = 0, waitMs = 0 }) => {
    const until = { ms: Math.min(Number(waitMs), MAX_WAIT_MS), since: Number(since) }
    const view = await service().wait(task, owner, until)
    if (view === undefined) throw agentError('GW_AGENT_TASK_UNKNOWN', { task })
    const events = service().events(task, owner, Number(since), MAX_EVENTS)
    return { ...formatStructured(view), events: events.map(event => ({ ...event })) }
  })
  register('agents.output', true, (task, owner, { what = 'text', offset = 0 }) => {
    if (what !== 'text' && what !== 'diff' && what !== 'log')
      throw createParamsError('agents.output', '"what" must be text, diff or log')
    const page = service().readPage(task, owner, what, Number(offset), MAX_PAGE)
    if (page === undefined) throw agentError('GW_AGENT_TASK_UNKNOWN', { task })
    const { next, ...output } = page
    return { ...output, hasMore: next !== undefined }
  })
  register('agents.reply', false, (task, owner, params) => {
    const answer = parseAnswer(params)
    if (answer === undefined || typeof params.question !== 'string')
      throw createParamsError('agents.reply', '"question" and "action" are required')
    // An agent working for another caller must not call back as the gateway's owner.
    const identity = owner === OWNER.owner ? OWNER.identity : undefined
    return formatStructured(service().answerQuestion(task, owner, params.question, answer, identity))
  })
  register('agents.cancel', false, (task, owner) => ({
    cancelled: service().cancel(task, owner, 'cancelled by the gateway owner'),
  }))
}

/** Suggests similar names. @throws GatewayError GW_AGENT_UNKNOWN */
function checkAgent(agent: unknown, parts: McpDeps): void {
  if (typeof agent !== 'string') return
  const ids = parts
    .service()
    .agents()
    .map(({ id }) => String(id))
  if (!ids.includes(agent)) throw agentError('GW_AGENT_UNKNOWN', { agent, meant: suggestHint(agent, ids) })
}

function parseAgentIds(agents: unknown): string[] | undefined {
  return Array.isArray(agents) ? (agents as unknown[]).filter(id => typeof id === 'string') : undefined
}

function createParamsError(verb: string, why: string): Error {
  return gatewayError('GW_VERB_PARAMS', { verb, why })
}

const NO_ROOTS = 'agents.roots is not set: each task works in an empty directory, and cwd and files are not allowed'

/**
 * Loads the configured agents. @throws GatewayError for an unusable configuration, so that a reload keeps the old one
 */
function loadAgents(api: PluginApi<AgentsConfig>): AgentSettings[] {
  checkRoots(api)
  try {
    createRouter(api.options.routing, api.config.auth)
  } catch (error) {
    throw createOptionsError(`agents.routing.rules: ${getErrorMessage(error)}`)
  }
  const agents = resolveAgents(api.options)
  for (const agent of agents) checkProgram(agent, api)
  if (agents.length > 0 && api.options.roots === undefined) api.log.warn(NO_ROOTS)
  return agents
}

/** Rejects roots that contain the gateway's files, because agents can write there. */
function checkRoots({ options: { roots = [] }, directory, privatePaths }: PluginApi<AgentsConfig>): void {
  for (const root of roots)
    if (statSync(resolve(directory, root), { throwIfNoEntry: false })?.isDirectory() !== true)
      throw createOptionsError(`agents.roots: "${root}" is not a directory`)
  const own = findRootOfGateway(roots, directory, privatePaths)
  if (own !== undefined)
    throw createOptionsError(`agents.roots: "${own}" contains files of the gateway; choose another directory`)
}

/** Rejects disallowed programs; a missing one may be installed later. */
function checkProgram(agent: AgentSettings, { directory, options, programs, log }: PluginApi<AgentsConfig>): void {
  const searchPath = programs.createEnvironment(agent.inheritEnv, agent.env).PATH
  try {
    resolveProgramFile(agent, { searchPath, directory, commands: options.commands })
  } catch (error) {
    if (!(error instanceof GatewayError) || error.fields.missing !== true) throw error
    log.warn(error.message)
  }
}

function createOptionsError(why: string): Error {
  return gatewayError('GW_PLUGIN_OPTIONS', { plugin: 'agents', why })
}

/** Upstream name and type. */
const UPSTREAM = 'agents'

/** Fraction of the shutdown time after which waiting calls are answered. */
const ANSWERED = 0.7

/** Registers the agents upstream and all hooks. */
export function setUp(
  api: PluginApi<AgentsConfig>,
  openRuntime = (...args: ConstructorParameters<typeof LocalRuntime>): AgentRuntime => new LocalRuntime(...args),
): void {
  const { options, hooks, slot, clock } = api
  const agents = loadAgents(api)
  const state = slot.gateway(createState)
  const runtime = (state.runtime.current ??= openRuntime(api, agents, state.callbackTokens))
  const { callbackTokens: tokens, patience, stopping } = state
  const service = (): TaskService => runtime.service
  const parts: McpDeps = { service, clock, patience, tokens, stopping: stopping.signal }

  hooks.configure.tap(config => addAgentsUpstream(config, options, agents))
  hooks.createUpstream.for(UPSTREAM).tap((spec, context) => new AgentsUpstream(spec, context, parts, runtime))
  hooks.ready.tap(() => runtime.applyConfig(api, agents))
  // Last, because other plugins may know the client's patience.
  hooks.call.tap({ methods: ['tools/call'], stage: 'transform' }, call => {
    if (call.upstream !== UPSTREAM || call.patience === undefined) return
    const { ms } = call.patience
    patience.set(call.exchange, ms)
    // The tools answer in time themselves.
    call.patience = { ms, onTimeout: () => undefined }
  })
  hooks.stopping.tap(graceMs => void clock.after(graceMs * ANSWERED, () => stopping.abort('the gateway is stopping')))
  hooks.metrics.tap(figures => [...figures, ...runtime.figures()])
  if (agents.some(({ callback }) => callback !== undefined)) openCallback(api, tokens, UPSTREAM)
  registerVerbs(hooks, parts)
}

/** State shared by all generations. */
function createState() {
  const stopping = new AbortController()
  // Each open call listens.
  setMaxListeners(0, stopping.signal)
  const runtime: { current?: AgentRuntime } = {}
  return { runtime, callbackTokens: new CallbackTokens(), patience: new WeakMap<Exchange, number>(), stopping }
}

/** Adds the agents upstream, and a callback listener if any agent may call back. */
function addAgentsUpstream(config: Config, { prefix }: AgentsConfig, callingBack: readonly AgentSettings[]): Config {
  const isTaken = config.upstreams[UPSTREAM] !== undefined || config.listeners[CALLBACK_LISTENER] !== undefined
  if (isTaken) {
    const why = `the upstream name "${UPSTREAM}" and the listener name "${CALLBACK_LISTENER}" are reserved`
    throw gatewayError('GW_PLUGIN_OPTIONS', { plugin: UPSTREAM, why })
  }
  // Start eagerly, so that interrupted tasks are recovered without a call.
  const upstream = { type: UPSTREAM, prefix, start: 'eager' } as unknown as UpstreamConfig
  const listener: Config['listeners'] = callingBack.some(({ callback }) => callback !== undefined)
    ? { [CALLBACK_LISTENER]: CALLBACK_SPEC }
    : {}
  return {
    ...config,
    upstreams: { ...config.upstreams, [UPSTREAM]: upstream },
    listeners: { ...config.listeners, ...listener },
  }
}
