/** Starts a program and stops the clock at its end, or when it has answered `tools/list`. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

const LIMIT_MS = 30_000
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
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
