import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import type { StdioUpstreamConfig } from '../config/config.gen.ts'
import type { PrivatePlace } from '../util/private-place.ts'
import { belowCeilings } from './resource-limits.ts'
import { findProgram } from './find-program.ts'
import { sandboxArguments } from './sandbox/sandbox.ts'

/** A program with its arguments, as it is really run. */
export interface Launch {
  readonly command: string
  readonly args: readonly string[]
}

/** Where a server is started. */
export interface LaunchSite {
  /** Directory of the configuration. */
  readonly directory: string
  readonly cwd: string
  /** The environment of the child. */
  readonly env: Readonly<Record<string, string>>
  /** The gateway's own. */
  readonly outside: Readonly<Record<string, string | undefined>>
  /** What may be written in its sandbox besides. */
  readonly writable?: readonly string[] | undefined
  /** Its HOME in a sandbox, made when there is none; without one it is temporary. */
  readonly ownHome?: string | undefined
  /** What no sandbox shows. */
  readonly places?: readonly PrivatePlace[] | undefined
}

type Spec = Pick<StdioUpstreamConfig, 'command' | 'args' | 'ceilings' | 'sandbox'>

/**
 * What is run for a server: itself, or what sets its ceilings and builds its sandbox first. Throws an Error that says
 * what is missing.
 */
export function launchOf(spec: Spec, site: LaunchSite): Launch {
  const { command, args, ceilings, sandbox } = spec
  if ((ceilings === undefined && sandbox === undefined) || process.platform === 'win32') {
    if (sandbox !== undefined) throw new Error('"sandbox: bwrap" works on Linux only')
    return { command, args }
  }
  const program = findProgram(command, site.env.PATH, site.cwd)
  // Whatever wraps it would fail in words of its own.
  if (program === undefined)
    throw new Error(
      'command not found – is it installed, and is its folder on the PATH that the gateway passes on?',
    )
  const argv = belowCeilings(ceilings, [program, ...args], sandbox !== undefined)
  return split(sandbox === undefined ? argv : [bubblewrap(site), ...inSandbox(spec, program, site), ...argv])
}

function inSandbox({ args, sandbox = 'bwrap' }: Spec, program: string, site: LaunchSite): string[] {
  const { outside, ownHome, places = [] } = site
  if (ownHome !== undefined) mkdirSync(ownHome, { recursive: true, mode: 0o700 })
  return sandboxArguments(sandbox, { ...site, program, args, places, home: outside.HOME ?? homedir() })
}

function bubblewrap({ outside }: LaunchSite): string {
  if (process.platform !== 'linux') throw new Error('"sandbox: bwrap" works on Linux only')
  const file = findProgram('bwrap', outside.PATH, '/')
  if (file !== undefined) return file
  throw new Error(
    '"sandbox: bwrap" is configured, and bwrap is not installed (Debian and Ubuntu: apt install bubblewrap; Fedora: dnf install bubblewrap)',
  )
}

function split([command = '', ...args]: readonly string[]): Launch {
  return { command, args }
}
