import { isObject, type JsonObject } from '../../../src/plugin.ts'
import { AgentFailure, type AgentFacts } from '../types/agent.ts'
import type { SessionProcess } from './session.ts'

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
  const prompt = objectOf(can.promptCapabilities)
  const info = objectOf(answer.agentInfo)
  return {
    name: wordOf(info.name),
    version: wordOf(info.version),
    protocol: answer.protocolVersion,
    canLoad: can.loadSession === true,
    canResume: isObject(session.resume),
    canClose: isObject(session.close),
    mcpHttp: objectOf(can.mcpCapabilities).http === true,
    images: prompt.image === true,
    audio: prompt.audio === true,
    embedded: prompt.embeddedContext === true,
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
