import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { LoggingLevel, Transport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import * as z from 'zod'
import { Ear } from './heard.ts'
import { capabilitiesOf } from './peer.ts'
import { ProgressTap } from './progress.ts'
import type { Answers, Around, Era, Identity, Interest, Json, Peer, Place } from './peer.ts'

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const TIMEOUT = 12_000

/** Connects a client of SDK v2 in one era; it never falls back to the other. */
export async function connectSdkV2(era: Era, place: Place, { answers }: Identity): Promise<Peer> {
  const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' }
  const client = new Client(
    { name: `matrix-v2-${era}`, version: '1.0.0' },
    { capabilities: capabilitiesOf(answers), versionNegotiation: { mode } },
  )
  const heard = new Ear()
  client.fallbackNotificationHandler = async ({ method, params }) => heard.hear(method, params)
  if (answers) answerWith(client, answers)
  const transport = transportTo(place)
  const progress = new ProgressTap(transport)
  await client.connect(transport)
  return peerOf(client, era, heard, progress)
}

function peerOf(client: Client, era: Era, heard: Ear, progress: ProgressTap): Peer {
  let level: string | undefined
  return {
    era,
    version: client.getNegotiatedProtocolVersion() ?? '',
    server: {
      info: { ...client.getServerVersion() },
      capabilities: { ...client.getServerCapabilities() },
      instructions: client.getInstructions(),
    },
    heard,
    request: (method, params = {}, around = {}) =>
      request(client, method, progress.around(withLevel(params, level), around), around),
    setLogLevel: async wanted => {
      if (era === 'modern') level = wanted
      else await client.setLoggingLevel(wanted as LoggingLevel)
    },
    watch: interest => (era === 'modern' ? listen(client, interest) : subscribe(client, interest)),
    close: () => client.close(),
  }
}

function answerWith(client: Client, answers: Answers): void {
  for (const [method, answer] of Object.entries(answers))
    client.setRequestHandler(method as 'elicitation/create', async request => answer({ ...request.params }) as never)
}

function withLevel(params: Json, level: string | undefined): Json {
  if (level === undefined) return params
  return { ...params, _meta: { ...(params['_meta'] as Json | undefined), [LOG_LEVEL]: level } }
}

async function request(client: Client, method: string, params: Json, { signal, raw }: Around): Promise<Json> {
  const options = {
    timeout: TIMEOUT,
    ...(signal ? { signal } : {}),
  }
  const typed = raw === true ? undefined : TYPED[method]
  if (typed) return (await typed(client, params as never, options)) as Json
  if (LISTS.has(method) && raw !== true) return await client.request({ method, params } as never, options)
  return client.request({ method, params }, z.looseObject({}), options)
}

// The list methods of the client would answer from its cache.
const LISTS = new Set(['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'])

type Typed = (client: Client, params: never, options: object) => Promise<object>

const TYPED: Record<string, Typed> = {
  'tools/call': (client, params, options) => client.callTool(params, options),
  'prompts/get': (client, params, options) => client.getPrompt(params, options),
  'resources/read': (client, params, options) =>
    client.readResource(params, { ...options, cacheMode: 'refresh' } as object),
  'completion/complete': (client, params, options) => client.complete(params, options),
}

async function listen(client: Client, { lists = [], uris = [] }: Interest): Promise<() => Promise<void>> {
  const filter = {
    ...(lists.includes('tools') ? { toolsListChanged: true } : {}),
    ...(lists.includes('prompts') ? { promptsListChanged: true } : {}),
    ...(lists.includes('resources') ? { resourcesListChanged: true } : {}),
    ...(uris.length > 0 ? { resourceSubscriptions: [...uris] } : {}),
  }
  const subscription = await client.listen(filter)
  return () => subscription.close()
}

async function subscribe(client: Client, { uris = [] }: Interest): Promise<() => Promise<void>> {
  for (const uri of uris) await client.subscribeResource({ uri })
  return async () => {
    for (const uri of uris) await client.unsubscribeResource({ uri })
  }
}

function transportTo(place: Place): Transport {
  if (place.transport === 'stdio')
    return new StdioClientTransport({ command: place.command, args: [...place.args], stderr: 'ignore' })
  const url = new URL(place.url)
  return place.transport === 'sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url)
}
