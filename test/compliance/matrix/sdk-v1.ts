import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { LoggingLevel } from '@modelcontextprotocol/sdk/types.js'
import * as z from 'zod'
import { Ear } from './heard.ts'
import { capabilitiesOf } from './peer.ts'
import { ProgressTap } from './progress.ts'
import type { Answers, Around, Identity, Interest, Json, Peer, Place } from './peer.ts'

const ASKED = {
  'elicitation/create': ElicitRequestSchema,
  'sampling/createMessage': CreateMessageRequestSchema,
  'roots/list': ListRootsRequestSchema,
}

const TIMEOUT = 12_000

/** Connects a client of SDK v1, which speaks the legacy era only. */
export async function connectSdkV1(place: Place, { answers }: Identity): Promise<Peer> {
  const client = new Client({ name: 'matrix-v1', version: '1.0.0' }, { capabilities: capabilitiesOf(answers) })
  const heard = new Ear()
  client.fallbackNotificationHandler = async ({ method, params }) => heard.hear(method, params)
  if (answers) answerWith(client, answers)
  const transport = transportTo(place)
  const progress = new ProgressTap(transport)
  await client.connect(transport)
  return {
    era: 'legacy',
    version: versionOf(transport),
    server: {
      info: { ...client.getServerVersion() },
      capabilities: { ...client.getServerCapabilities() },
      instructions: client.getInstructions(),
    },
    heard,
    request: (method, params = {}, around = {}) => request(client, method, progress.around(params, around), around),
    setLogLevel: async level => void (await client.setLoggingLevel(level as LoggingLevel)),
    watch: interest => watch(client, interest),
    close: () => client.close(),
  }
}

function answerWith(client: Client, answers: Answers): void {
  for (const [method, answer] of Object.entries(answers)) {
    const schema = ASKED[method as keyof typeof ASKED]
    client.setRequestHandler(schema, async request => answer((request.params ?? {}) as Json) as never)
  }
}

async function request(client: Client, method: string, params: Json, { signal, raw }: Around): Promise<Json> {
  const options = {
    timeout: TIMEOUT,
    ...(signal ? { signal } : {}),
  }
  const typed = raw === true ? undefined : TYPED[method]
  if (typed) return (await typed(client, params as never, options)) as Json
  return client.request({ method, params }, z.looseObject({}), options)
}

type Typed = (client: Client, params: never, options: object) => Promise<object>

const TYPED: Record<string, Typed> = {
  'tools/list': (client, params, options) => client.listTools(params, options),
  'tools/call': (client, params, options) => client.callTool(params, undefined, options),
  'prompts/list': (client, params, options) => client.listPrompts(params, options),
  'prompts/get': (client, params, options) => client.getPrompt(params, options),
  'resources/list': (client, params, options) => client.listResources(params, options),
  'resources/templates/list': (client, params, options) => client.listResourceTemplates(params, options),
  'resources/read': (client, params, options) => client.readResource(params, options),
  'completion/complete': (client, params, options) => client.complete(params, options),
}

async function watch(client: Client, { uris = [] }: Interest): Promise<() => Promise<void>> {
  for (const uri of uris) await client.subscribeResource({ uri })
  return async () => {
    for (const uri of uris) await client.unsubscribeResource({ uri })
  }
}

function transportTo(place: Place): Transport {
  if (place.transport === 'stdio')
    return new StdioClientTransport({ command: place.command, args: [...place.args], stderr: 'ignore' })
  const url = new URL(place.url)
  if (place.transport === 'ws') return new WebSocketClientTransport(url)
  return place.transport === 'sse' ? new SSEClientTransport(url) : new StreamableHTTPClientTransport(url)
}

function versionOf(transport: Transport): string {
  return (transport as { protocolVersion?: string }).protocolVersion ?? ''
}
