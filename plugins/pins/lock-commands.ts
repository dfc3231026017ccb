import { diff } from 'node:util'
import type { CommandCall, CommandFinding, Config, JsonObject } from '../../src/plugin.ts'
import { escapeInvisible, gatewayError, getErrorMessage, readText, suggestHint, toOneLine } from '../../src/plugin.ts'
import type { Pin, PinKind, UpstreamPins } from './definition.ts'
import { createPins, hashValue, PINNED } from './definition.ts'
import { pinsError } from './errors.ts'
import type { Lock } from './lock-file.ts'
import { formatDefinition, lockPath, readLock, writeLock } from './lock-file.ts'
import { listModes } from './pin-judge.ts'

/** Exit code for definitions that differ from the lock. */
const DRIFTED = 6
/** Maximum definition lines that are compared one by one. */
const MAX_LINES = 500

/** A difference from the lock. */
interface PinChange {
  readonly what: PinKind
  readonly name: string
  readonly status: 'new' | 'changed' | 'gone'
  /** Lines of the file that differ, as `- old` and `+ new`. */
  readonly lines: readonly string[]
}

/** One upstream's difference from the lock, or the reason why it is unavailable. */
interface UpstreamDrift {
  readonly upstream: string
  readonly problem?: string
  readonly pins: UpstreamPins
  readonly changes: readonly PinChange[]
}

interface CurrentPins {
  readonly file: string
  readonly accepted: Lock | undefined
  readonly upstreams: readonly UpstreamDrift[]
  readonly config: Config
}

/** Adds new definitions to the lock; returns 1 if any accepted definition has changed. */
export async function writePins(call: CommandCall): Promise<number> {
  const { file, accepted, upstreams, config } = await readCurrentPins(call)
  const isPruning = call.flags.prune === true
  const lock = new Map(accepted)
  if (isPruning) for (const name of lock.keys()) if (config.upstreams[name] === undefined) lock.delete(name)
  const rows = upstreams.map(({ upstream, problem, pins, changes }) => {
    const before = accepted?.get(upstream)
    const added = [...pins].filter(([, { kind }]) => before === undefined || kind !== 'instructions')
    const retained = [...(before ?? [])].filter(([key]) => !isPruning || pins.has(key))
    if (problem === undefined) lock.set(upstream, new Map([...added, ...retained]))
    const select = (status: PinChange['status']) => changes.filter(one => one.status === status)
    return { upstream, problem, added: select('new'), changed: select('changed') }
  })
  writeLock(file, lock)
  await reloadGateway(call)
  call.print(
    { file, upstreams: rows },
    () => [
      ...rows.flatMap(({ upstream, problem, added, changed }) => [
        ...formatRow({ upstream, problem, changes: added }, ', added'),
        ...formatRow({ upstream, changes: changed }, `, accepted version kept: see gateway lock diff ${upstream}`),
      ]),
      `wrote ${file}`,
    ],
    () => createFindings(file, upstreams),
  )
  return rows.every(({ problem, changed }) => problem === undefined && changed.length === 0) ? 0 : DRIFTED
}

/**
 * Shows the differences with the command that accepts them; returns 1 if there are any. Removed definitions do not
 * count.
 */
export async function diffPins(call: CommandCall): Promise<number> {
  const { file, accepted, upstreams } = await readCurrentPins(call)
  const rows = upstreams.map(({ pins, ...row }) => ({ ...row, hash: hashPins(pins) }))
  const isFine = rows.every(
    ({ problem, changes }) => problem === undefined && changes.every(({ status }) => status === 'gone'),
  )
  call.print(
    { file, isFine, upstreams: rows },
    () => [
      ...(accepted === undefined ? [`${file} not found: run "gateway lock"`] : []),
      ...rows.flatMap(({ upstream, problem, changes, hash }) => {
        if (problem !== undefined || changes.length === 0) return formatRow({ upstream, problem, changes })
        const lines = changes.flatMap(change => [
          ...formatRow({ upstream, changes: [change] }),
          ...change.lines.map(line => `  ${line}`),
        ])
        return [...lines, `gateway lock accept ${upstream} --expect ${hash}`]
      }),
      ...(isFine ? [`${rows.length} ${rows.length === 1 ? 'server matches' : 'servers match'} ${file}`] : []),
    ],
    () => createFindings(file, upstreams),
  )
  return isFine ? 0 : DRIFTED
}

function createFindings(file: string, upstreams: readonly UpstreamDrift[]): CommandFinding[] {
  return upstreams.flatMap(({ upstream, problem, changes }) => {
    if (problem !== undefined)
      return [
        { rule: 'pin-unavailable', level: 'error' as const, message: `${upstream}: unavailable: ${problem}`, file },
      ]
    return changes.map(({ what, name, status, lines }) => {
      const message = [`${upstream}: ${what} ${JSON.stringify(name)} ${status}`, ...lines].join('\n')
      return { rule: `pin-${status}`, level: status === 'gone' ? ('note' as const) : ('error' as const), message, file }
    })
  })
}

/** Accepts an upstream's current definitions, if they are those of the reviewed hash. */
export async function acceptPins(call: CommandCall): Promise<void> {
  const { file, accepted, upstreams } = await readCurrentPins(call)
  for (const { upstream, problem, pins, changes } of upstreams) {
    if (problem !== undefined) throw gatewayError('GW_UPSTREAM_DOWN', { upstream, why: problem })
    const hash = hashPins(pins)
    if (hash !== call.flags.expect) throw pinsError('GW_PINS_EXPECT', { upstream, found: hash })
    writeLock(file, new Map([...(accepted ?? []), [upstream, pins]]))
    await reloadGateway(call)
    call.print({ file, upstream, hash, accepted: changes.length }, () => [
      ...formatRow({ upstream, changes }, ', accepted'),
      `wrote ${file}`,
    ])
  }
}

/** Reads descriptions from the running gateway, or from a temporary one. */
async function readCurrentPins(call: CommandCall): Promise<CurrentPins> {
  const { config, directory } = await call.load()
  const names = listPinnedUpstreams(config, call.args.upstream)
  const file = lockPath(directory)
  const accepted = readLock(file)
  const upstreams = await call.withGateway('whole', async ask => {
    const drifts: UpstreamDrift[] = []
    for (const upstream of names) {
      const described = await ask('upstream.definitions', { upstream }).catch((error: unknown) => ({
        troubles: { [PINNED[0]]: getErrorMessage(error) },
      }))
      drifts.push({ upstream, ...compareDescription(described, accepted?.get(upstream)) })
    }
    return drifts
  })
  return { file, accepted, upstreams, config }
}

/** Reports incomplete lists as a problem: otherwise missing entries would look removed. */
function compareDescription(
  described: JsonObject,
  accepted: UpstreamPins | undefined,
): Omit<UpstreamDrift, 'upstream'> {
  const kind = PINNED.find(one => readText(described, 'troubles', one) !== undefined)
  if (kind !== undefined)
    return { problem: `${kind}: ${readText(described, 'troubles', kind) ?? ''}`, pins: new Map(), changes: [] }
  const pins = createPins(described)
  return { pins, changes: comparePins(accepted, pins) }
}

/**
 * Lists pinned upstreams; all enabled ones if pinning is off everywhere, as a lock is created before pinning is
 * enabled.
 */
function listPinnedUpstreams(config: Config, only: string | undefined): string[] {
  const enabled = Object.entries(config.upstreams).flatMap(([name, spec]) => (spec.enabled ? [name] : []))
  if (only !== undefined) {
    if (enabled.includes(only)) return [only]
    throw gatewayError('GW_UPSTREAM_UNKNOWN', { upstream: only, meant: suggestHint(only, enabled) })
  }
  const modes = listModes(config)
  return modes.size === 0 ? enabled : [...modes.keys()]
}

/** Compares with the lock. Instructions added to an accepted upstream are a change. */
function comparePins(accepted: UpstreamPins | undefined, now: UpstreamPins): PinChange[] {
  const gone = [...(accepted ?? [])].flatMap(([key, pin]) => (now.has(key) ? [] : [createChange(pin, 'gone', [])]))
  const changes = [...now].flatMap(([key, pin]) => {
    const before = accepted?.get(key)
    if (before?.hash === pin.hash) return []
    const isNew = before === undefined && (accepted === undefined || pin.kind !== 'instructions')
    return [createChange(pin, isNew ? 'new' : 'changed', diffLines(before, pin))]
  })
  return [...changes, ...gone]
}

function createChange({ kind: what, name }: Pin, status: PinChange['status'], lines: readonly string[]): PinChange {
  return { what, name, status, lines }
}

/** Compares two definitions line by line, as they are in the file. */
function diffLines(before: Pin | undefined, now: Pin): string[] {
  const [old, young] = [before === undefined ? [] : formatLines(before), formatLines(now)]
  if (old.length > MAX_LINES || young.length > MAX_LINES)
    return [...old.map(line => `- ${line}`), ...young.map(line => `+ ${line}`)]
  return diff(old, young).flatMap(([sign, line]) => (sign === 0 ? [] : [`${sign > 0 ? '-' : '+'} ${line}`]))
}

function formatLines(pin: Pin): string[] {
  return escapeInvisible(JSON.stringify(formatDefinition(pin), undefined, 2))
    .split('\n')
    .slice(1, -1)
}

/** Hashes an upstream's whole description, so that the reviewer accepts exactly that state. */
function hashPins(pins: UpstreamPins): string {
  return hashValue(Object.fromEntries([...pins].map(([key, { hash }]) => [key, hash])))
}

/** Lets the running gateway, if there is one, read the lock again. */
async function reloadGateway(call: CommandCall): Promise<void> {
  try {
    await call.withGateway('running', ask => ask('reload', { same: true }))
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    if (code !== 'GW_NO_GATEWAY') call.err.line(`the running gateway could not reload: ${toOneLine(String(message))}`)
  }
}

type ChangedRow = Pick<UpstreamDrift, 'upstream' | 'changes'> & { readonly problem?: string | undefined }

function formatRow({ upstream, problem, changes }: ChangedRow, outcome = ''): string[] {
  if (problem !== undefined) return [`${upstream}: unavailable: ${problem}`]
  return changes.map(
    ({ what: kind, name, status }) => `${upstream}: ${kind} ${JSON.stringify(name)} ${status}${outcome}`,
  )
}
