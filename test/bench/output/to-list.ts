/** Starts a program and stops the clock at its end, or when it has answered `tools/list`. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { listeningIn } from '../setup/workshop.ts'

const LIMIT_MS = 30_000
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
}
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Ends what was started, and waits for that. */
export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill()
  await exit
}

/** Runs to the end. */
export function toEnd(args: readonly string[]): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: LIMIT_MS })
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.once('exit', code =>
      code === 0 ? resolve(child) : reject(new Error(`${args.join(' ')} ended with ${String(code)}:\n${stderr}`)),
    )
  })
}

/** Says hello and asks for the list at once, as a client does that starts a server; the list must have `tool`. */
export function toList(args: readonly string[], tool: string): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'ignore'], timeout: LIMIT_MS })
    child.once('exit', code => reject(new Error(`${args.join(' ')} ended with ${String(code)}`)))
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      if (output.includes('"tools":[') && output.includes(`"name":"${tool}"`)) resolve(child)
    })
    // The child may end while it is written to; its exit says so.
    child.stdin.on('error', () => undefined)
    const messages = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: HELLO },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/list' },
    ]
    child.stdin.write(messages.map(message => `${JSON.stringify(message)}\n`).join(''))
  })
}

/** Asks for the list as soon as it listens. */
export function toHttpList(args: readonly string[], tool: string): Promise<ChildProcess> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: LIMIT_MS })
    child.once('exit', code => reject(new Error(`${args.join(' ')} ended with ${String(code)}`)))
    let stderr = ''
    let isAsked = false
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
      const url = listeningIn(stderr)
      if (url === undefined || isAsked) return
      isAsked = true
      modernListOf(url, tool).then(() => resolve(child), reject)
    })
  })
}

function modernListOf(url: string, tool: string): Promise<void> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/list',
  }
  return new Promise((resolve, reject) => {
    const post = request(url, { method: 'POST', headers, agent: false }, reply => {
      let text = ''
      reply.on('data', (chunk: Buffer) => (text += chunk.toString()))
      reply.on('end', () => (text.includes(`"name":"${tool}"`) ? resolve() : reject(new Error(text))))
    })
    post.on('error', reject)
    post.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: META } }))
  })
}
