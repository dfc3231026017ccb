import { request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import type { JsonObject } from '../../../../src/plugin.ts'

/** Answer to a request. */
export interface Answered {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Request over a connection of its own. */
export interface Asked {
  readonly body?: JsonObject | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a request over a connection of its own: the next one goes to another worker. */
export async function askOnce(url: URL | string, asked: Asked = {}): Promise<Answered> {
  const response = await send(url, asked)
  return { status: response.statusCode ?? 0, headers: response.headers, body: await text(response) }
}

function send(url: URL | string, { body, headers = {} }: Asked): Promise<IncomingMessage> {
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const options = {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...type, ...headers },
    agent: false,
  } as const
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, options, resolve)
    request.on('error', reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

/** A browser without a screen that keeps no connection open. */
export interface Wanderer {
  readonly headers: { readonly cookie: string; readonly 'x-tapgate-ui': string }
  ask(name: string, body?: JsonObject): Promise<Answered>
  json(name: string, body?: JsonObject): Promise<JsonObject>
  /** Begins to read a stream of events. */
  events(name: string, body?: JsonObject): Promise<Heard>
}

/** Stream of events. */
export interface Heard {
  readonly events: JsonObject[]
  /** True once it has ended, well or badly. */
  readonly isOver: () => boolean
  close(): void
}

/** Opens a link as the page does. */
export async function enter(
  link: string,
  { body, headers = {} }: Asked = { body: { token: tokenIn(link) } },
): Promise<Wanderer> {
  const url = new URL(link)
  const opened = await askOnce(new URL('api/session', url), { body, headers })
  if (opened.status !== 200) throw new Error(`${opened.status} ${opened.body}`)
  const [cookie = ''] = String(opened.headers['set-cookie']).split(';', 1)
  const own = { cookie, 'x-tapgate-ui': String((JSON.parse(opened.body) as JsonObject).key) }
  const ask = (name: string, sent?: JsonObject): Promise<Answered> =>
    askOnce(new URL(`api/${name}`, url), { body: sent, headers: own })
  return {
    headers: own,
    ask,
    json: async (name, sent) => JSON.parse((await ask(name, sent)).body) as JsonObject,
    events: async (name, sent) => hear(await send(new URL(`api/${name}`, url), { body: sent, headers: own })),
  }
}

export function tokenIn(link: string): string {
  return new URL(link).hash.replace('#token=', '')
}

function hear(response: IncomingMessage): Heard {
  const events: JsonObject[] = []
  let isOver = false
  let rest = ''
  response.setEncoding('utf8')
  response.on('data', (chunk: string) => {
    const blocks = (rest + chunk).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks)
      if (block.startsWith('data: ')) events.push(JSON.parse(block.slice('data: '.length)) as JsonObject)
  })
  response.on('error', () => undefined).on('close', () => (isOver = true))
  return { events, isOver: () => isOver, close: () => response.destroy() }
}
