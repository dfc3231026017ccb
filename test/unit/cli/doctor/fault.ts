import { createServer, type Server } from 'node:net'
import type { TestContext } from 'node:test'
import { getStateDirectory } from '../../../../src/cli/load-source.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import type { Lab } from './lab.ts'

/** Something that is wrong, as `gateway doctor` names it, and what mends it. */
export interface Fault {
  readonly code: string
  /** Beside the table's level, the place that the finding names. */
  readonly names: RegExp
  prepare(lab: Lab, t: TestContext): Promise<void>
  /** `fix` is `gateway doctor --fix`; else what its owner does, as the finding says. */
  readonly cure: 'fix' | ((lab: Lab) => Promise<void>)
}

export async function listening(t: TestContext, where: string | { port: number; host: string }): Promise<Server> {
  const server = createServer(socket => socket.destroy())
  await new Promise<void>(resolve => server.listen(where, resolve))
  cleanup(t, () => new Promise<void>(resolve => void server.close(() => resolve())))
  return server
}

export function state(lab: Lab): string {
  return getStateDirectory({ file: lab.file }, lab.terminal) ?? ''
}
