/** Measures the time of the other gateways to their list. */
import { spawn, type ChildProcess } from 'node:child_process'
import { stdioUpstreams } from '../setup/gateways.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { listening } from '../setup/ports.ts'
import { benchFile } from '../setup/children.ts'
import { sdkArgs, type Rivals } from '../rivals.ts'
import type { Start } from '../start-up.ts'
import { toList } from '../output/to-list.ts'

const READY_MS = 30_000
const COUNTS = [1, 20]

/** All of one server, and of twenty where they can have as many. */
export function rivalStarts(rivals: Rivals): readonly Start[] {
  const proxy = rivals.fileOf('mcp-proxy')
  return [...COUNTS.flatMap(count => sdkStarts(count)), ...(proxy === undefined ? [] : [proxyStart(proxy)])]
}

function sdkStarts(count: number): readonly Start[] {
  return (['SDK v1 gateway', 'SDK v2 gateway'] as const).map(sdk => ({
    key: `rival ${sdk} ${count}`,
    title: `${sdk} on stdio, ${words(count)}, to its list`,
    isSlow: true,
    run: () => toList(sdkArgs(sdk, 'stdio', stdioUpstreams(count)), `s${count - 1}__small`),
  }))
}

function proxyStart(file: string): Start {
  const run = async (): Promise<ChildProcess> => {
    const port = await freePort()
    const args = [
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--',
      process.execPath,
      benchFile('peers/server-stdio.ts'),
    ]
    const child = spawn(process.execPath, [file, ...args], { stdio: 'ignore' })
    await listening(port, READY_MS)
    return child
  }
  return { key: 'rival mcp-proxy 1', title: 'mcp-proxy, 1 stdio server, to listening', isSlow: true, run }
}

function words(count: number): string {
  return `${count} stdio server${count === 1 ? '' : 's'}`
}
