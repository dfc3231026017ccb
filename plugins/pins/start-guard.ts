import type { UpstreamConfig } from '../../src/plugin.ts'
import { canonicalizeJson } from '../../src/plugin.ts'
import { listDifferences } from './suspicious-text.ts'
import { pinsError } from './errors.ts'
import type { Mode } from './pin-judge.ts'
import type { Lock } from './lock-file.ts'
import type { PackagePin, LookupEnvironment } from './identify-package.ts'
import { identifyPackage } from './identify-package.ts'

/** Comparison result; `unknown` if an accepted property cannot be determined here. */
type ProgramStatus = 'same' | 'changed' | 'new' | 'unknown'

/** A program that differs from the accepted one or cannot be compared. */
export interface ProgramDrift {
  readonly upstream: string
  readonly status: ProgramStatus
  readonly message: string
  readonly isWithheld: boolean
}

/** Compares a server's program with the accepted one. */
export function compareProgram(accepted: PackagePin | undefined, now: PackagePin | undefined): ProgramStatus {
  if (accepted === undefined) return now === undefined ? 'same' : 'new'
  if (accepted.type === 'unpinned') return now?.type === 'unpinned' ? 'unknown' : 'changed'
  if (accepted.type === 'npm' && now?.type === 'npm') return compareNpmPackages(accepted, now)
  return canonicalizeJson(accepted) === canonicalizeJson(now) ? 'same' : 'changed'
}

type NpmPin = Extract<PackagePin, { type: 'npm' }>

function compareNpmPackages(accepted: NpmPin, now: NpmPin): ProgramStatus {
  if (accepted.name !== now.name || accepted.version !== now.version) return 'changed'
  const statuses = (['integrity', 'sha256'] as const).map(part => compareHash(accepted[part], now[part]))
  return (['changed', 'unknown'] as const).find(status => statuses.includes(status)) ?? 'same'
}

/** A package that is not installed here has no integrity. */
function compareHash(accepted: string | undefined, now: string | undefined): ProgramStatus {
  if (accepted === undefined || accepted === now) return 'same'
  return now === undefined ? 'unknown' : 'changed'
}

interface StartGuardDeps {
  readonly lock: Lock | undefined
  readonly modes: ReadonlyMap<string, Mode>
  readonly lookup: LookupEnvironment
  /** Called for every difference; may repeat. */
  onDrift(drift: ProgramDrift): void
}

/** Checks programs before each start, as files may change in between. */
export class StartGuard {
  readonly #deps: StartGuardDeps

  constructor(parts: StartGuardDeps) {
    this.#deps = parts
  }

  /**
   * Returns the reason not to start a server; undefined if it may start. A server without a lock entry may start, as
   * its tools are judged.
   */
  checkStart(upstream: string, spec: UpstreamConfig): string | undefined {
    const { lock, modes, lookup } = this.#deps
    const mode = modes.get(upstream)
    const pins = lock?.get(upstream)
    if (mode === undefined || mode === 'off' || pins === undefined) return undefined
    const now = identifyPackage(spec, lookup)
    const status = compareProgram(pins.package, now)
    if (status === 'same') return undefined
    const isWithheld = shouldWithholdProgram(mode, status, pins.package)
    const lines = listDifferences(pins.package ?? {}, now ?? {})
    const packages = lines.join('; ') || 'the program cannot be identified'
    const { message } = pinsError('GW_PACKAGE_CHANGED', { upstream, what: packages })
    this.#deps.onDrift({ upstream, status, message, isWithheld })
    return isWithheld ? message : undefined
  }
}

/** A program accepted as unpinned is only warned about: there is nothing to compare. */
function shouldWithholdProgram(mode: Mode, status: ProgramStatus, accepted: PackagePin | undefined): boolean {
  if (mode === 'warn' || (accepted?.type === 'unpinned' && status === 'unknown')) return false
  return status === 'changed' || mode === 'strict'
}
