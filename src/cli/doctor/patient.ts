import type { LoadedConfig } from '../../config/index.ts'
import type { AskFlags } from '../local/ask-gateway.ts'
import type { Terminal } from '../output/terminal.ts'
import type { Host } from '../host.ts'

/** The machine as the doctor sees it. */
export interface Machine {
  /** Version of Node, such as `24.1.0`. */
  readonly node: string
  /** Milliseconds since 1970. */
  now(): number
  /** Bytes that this user may still write there; undefined where that is not known. */
  freeBytes(path: string): Promise<number | undefined>
  /** Program and launcher of this command. */
  readonly self: { readonly execPath: string; readonly launcher: string }
}

/** All that checks look at. */
export interface Patient {
  readonly flags: AskFlags
  readonly terminal: Terminal
  readonly machine: Machine
  /** The configuration file, where there is one, readable or not. */
  readonly file: string | undefined
  /** Absent where it is not valid. */
  readonly source: LoadedConfig | undefined
}

/** The machine that this runs on. */
export function machineOf(host: Host): Machine {
  return {
    node: host.versions.node,
    now: () => Date.now(),
    async freeBytes(path) {
      const { statfs } = await import('node:fs/promises')
      return statfs(path).then(
        ({ bavail, bsize }) => bavail * bsize,
        () => undefined,
      )
    },
    self: { execPath: host.execPath, launcher: String(host.argv[1]) },
  }
}
