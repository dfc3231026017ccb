import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { request, type IncomingHttpHeaders } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { openControl, type Control } from '../../../src/control/server.ts'
import type { ControlDeps } from '../../../src/control/protocol.ts'
import { createLog } from '../../../src/util/log.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

export const skip = process.platform === 'win32' ? 'sockets have no modes there' : false
const ABOUT = { name: 'tapgate', version: '0', pid: process.pid }

export async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'control-'))
  cleanup(t, () => rm(path, { recursive: true, force: true }))
  return path
}

export function host(more: Partial<ControlDeps> = {}): ControlDeps {
  return {
    about: ABOUT,
    log: createLog({ level: 'error', format: 'json', write: () => undefined }),
    control: async (verb, params) => ({ verb, params }),
    ...more,
  }
}

export async function opened(t: TestContext, socket: string, more: Partial<ControlDeps> = {}): Promise<Control> {
  const control = await openControl(socket, host(more), true)
  cleanup(t, () => control.close())
  return control
}

/** A peer that may send anything. */
export function raw(t: TestContext, socket: string): { to: Socket; all: Promise<string>; closed: Promise<void> } {
  const to = connect(socket)
  to.on('error', () => undefined)
  cleanup(t, () => to.destroy())
  let text = ''
  to.on('data', chunk => (text += chunk.toString()))
  const closed = new Promise<void>(resolve => to.once('close', () => resolve()))
  return { to, all: closed.then(() => text), closed }
}

/** One request, as any HTTP client makes it. */
export function ask(
  socket: string,
  method: string,
  path: string,
  { body, headers = {} }: { readonly body?: string; readonly headers?: Record<string, string> } = {},
): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; text: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath: socket, method, path, headers, agent: false }, response => {
      let text = ''
      response.on('data', chunk => (text += String(chunk)))
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }))
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Leaves what a gateway leaves that was killed. */
export async function leaveStale(socket: string): Promise<void> {
  const program = `require('net').createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, 'SIGKILL'))`
  await mkdir(join(socket, '..'), { recursive: true, mode: 0o700 })
  const child = spawn(process.execPath, ['-e', program])
  await new Promise(resolve => child.once('exit', resolve))
}
