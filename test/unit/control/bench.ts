import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { openControl, type Control } from '../../../src/control/server.ts'
import type { ControlHost } from '../../../src/control/protocol.ts'
import { createLog } from '../../../src/util/log.ts'

export const skip = process.platform === 'win32' ? 'sockets have no modes there' : false
const ABOUT = { protocol: 1, name: 'tapgate', version: '0', pid: process.pid }
export const HELLO = '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":1}}\n'

export async function directory(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'control-'))
  t.after(() => rm(path, { recursive: true, force: true }))
  return path
}

export function host(more: Partial<ControlHost> = {}): ControlHost {
  return {
    about: ABOUT,
    log: createLog({ level: 'error', format: 'json', write: () => undefined }),
    control: async (verb, params) => ({ verb, params }),
    ...more,
  }
}

export async function opened(
  t: TestContext,
  socket: string,
  more: Partial<ControlHost> = {},
): Promise<Control> {
  const control = await openControl(socket, host(more), true)
  t.after(() => control.close())
  return control
}

/** A peer that may say anything. */
export function raw(
  t: TestContext,
  socket: string,
): { to: Socket; lines: AsyncIterator<string>; closed: Promise<void> } {
  const to = connect(socket)
  to.on('error', () => undefined)
  t.after(() => to.destroy())
  const closed = new Promise<void>(resolve => to.once('close', () => resolve()))
  return { to, lines: createInterface({ input: to })[Symbol.asyncIterator](), closed }
}

export async function next(
  lines: AsyncIterator<string>,
): Promise<{ result?: unknown; error?: { message: string } }> {
  return JSON.parse(String((await lines.next()).value)) as { result?: unknown; error?: { message: string } }
}

/** Leaves what a gateway leaves that was killed. */
export async function leaveStale(socket: string): Promise<void> {
  const program = `require('net').createServer().listen(${JSON.stringify(socket)}, () => process.kill(process.pid, 'SIGKILL'))`
  await mkdir(join(socket, '..'), { recursive: true, mode: 0o700 })
  const child = spawn(process.execPath, ['-e', program])
  await new Promise(resolve => child.once('exit', resolve))
}
