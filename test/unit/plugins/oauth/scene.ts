import type { TestContext } from 'node:test'
import { createGateway, type Gateway } from '../../../../src/gateway/gateway.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { loginServer, type LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { stateOf } from './vault/kit.ts'

/** Where a login sends the browser back to. */
export const REDIRECT = 'http://127.0.0.1:9/oauth/callback'

/** A gateway, not started, before a server "web" that wants tokens and has a tool "pay". */
export interface Scene {
  readonly gateway: Gateway
  readonly server: LoginServer
  /** Number of times that the tool ran. */
  readonly runs: () => number
  logIn(): Promise<void>
  /** The result of a call of the tool as JSON, or what was wrong. */
  call(): Promise<string>
}

export async function scene(
  t: TestContext,
  oauth: (origin: string) => object = () => ({}),
  more: (server: LoginServer) => object = () => ({}),
): Promise<Scene> {
  let runs = 0
  const behind = closeAfter(t, await testUpstream({ tools: { pay: () => `paid ${String(++runs)}` } }))
  const server = closeAfter(t, await loginServer(behind.url))
  const web = { type: 'http', url: server.url, oauth: oauth(server.origin) }
  const upstreams = { web, ...more(server) }
  const gateway = await createGateway({ version: 1, state: { directory: stateOf(t) }, upstreams })
  cleanup(t, () => gateway.close())
  const call = async (): Promise<string> => {
    const client = await gateway.connect()
    return client.request('tools/call', { name: 'web__pay' }).then(result => JSON.stringify(result), String)
  }
  const logIn = (): Promise<void> => logInBy((verb, params) => gateway.control(verb, params))
  return { gateway, server, runs: () => runs, logIn, call }
}

type Control = (verb: string, params: Record<string, unknown>) => Promise<Record<string, unknown>>

/** Logs in to "web" as a browser does. */
export async function logInBy(control: Control, more: Record<string, unknown> = {}): Promise<void> {
  const begun = await control('login.begin', { upstream: 'web', redirectUri: REDIRECT, ...more })
  const back = await fetch(String(begun.url), { redirect: 'manual' })
  await control('login.finish', { url: back.headers.get('location') })
}
