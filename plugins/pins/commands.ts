import type { CommandCall, PluginCommands } from '../../src/plugin.ts'
import { toOneLine } from '../../src/plugin.ts'
import type { PinChange } from './compare-pins.ts'
import type { CurrentPins } from './current-pins.ts'
import type { UpstreamPins } from './lock-file.ts'

/** Exit code for definitions that differ from the lock. */
const DRIFTED = 1

export const commands: PluginCommands = {
  lock: {
    summary: 'Record definitions of servers in gateway.lock, for review.',
    description:
      'Adds new definitions. Changed ones keep their accepted version: see "lock diff" and "lock accept". Exit codes: 0 no differences, 1 differences or a server is unavailable, 3 the file is unusable.',
    examples: ['gateway lock', 'gateway lock files', 'gateway lock --check', 'gateway lock --prune'],
    gateway: 'any',
    args: { upstream: { description: 'Only this server.' } },
    flags: {
      check: {
        type: 'boolean',
        exclusive: ['prune'],
        summary: 'Write nothing; exit with 1 if anything is new, changed or unavailable. For CI.',
      },
      prune: {
        type: 'boolean',
        summary: 'Drop definitions and servers that no longer exist.',
      },
    },
    async run(call) {
      const current = await loadPins(call, call.args.upstream)
      return call.flags.check === true ? checkPins(call, current) : writePins(call, current)
    },
  },
  'lock diff': {
    summary: 'Show differences from gateway.lock.',
    description: 'Invisible characters are shown as \\u…. Notes are hints for the reviewer only.',
    examples: ['gateway lock diff', 'gateway lock diff files --json'],
    gateway: 'any',
    args: { upstream: { description: 'Only this server.' } },
    async run(call) {
      const current = await loadPins(call, call.args.upstream)
      const { comparePins, hashPins } = await import('./compare-pins.ts')
      const rows = current.described.map(({ upstream, pins, problem }) => ({
        upstream,
        ...(problem === undefined ? {} : { problem }),
        ...(pins === undefined
          ? {}
          : { hash: hashPins(pins), changes: comparePins(current.accepted?.get(upstream), pins) }),
      }))
      call.print({ file: current.file, upstreams: rows }, () => rows.flatMap(row => formatDiff(row, call)))
    },
  },
  'lock accept': {
    summary: 'Accept the current definitions of one server into gateway.lock.',
    description: 'Fails if the definitions have changed since the review: the hash is the one from "lock diff".',
    examples: ['gateway lock accept files --expect v1:4be1…'],
    gateway: 'any',
    args: { upstream: { required: true, description: 'The server.' } },
    flags: {
      expect: { required: true, value: '<hash>', summary: 'The hash from "gateway lock diff".' },
    },
    run: call => acceptPins(call, call.args.upstream ?? '', String(call.flags.expect)),
  },
}

async function loadPins(call: CommandCall, only?: string): Promise<CurrentPins> {
  const { readCurrentPins } = await import('./current-pins.ts')
  return readCurrentPins(call, only)
}

/** Checks for differences, for CI. Removed definitions are ignored. */
async function checkPins(call: CommandCall, { file, accepted, described }: CurrentPins): Promise<number> {
  const { comparePins } = await import('./compare-pins.ts')
  const rows = described.map(({ upstream, pins, problem }) => {
    const all = pins === undefined ? [] : comparePins(accepted?.get(upstream), pins)
    return { upstream, problem, changes: all.filter(({ status }) => status !== 'gone') }
  })
  const isFine = rows.every(({ problem, changes }) => problem === undefined && changes.length === 0)
  call.print({ file, isFine, upstreams: rows }, () => [
    ...(accepted === undefined ? [`${file} not found: run "gateway lock"`] : []),
    ...rows.flatMap(({ upstream, problem, changes }) => [
      ...(problem === undefined ? [] : [`${upstream}: unavailable: ${problem}`]),
      ...changes.map(change => `${upstream}: ${formatChangeName(change)} ${change.status}`),
    ]),
    ...(isFine ? [`${rows.length} ${rows.length === 1 ? 'server matches' : 'servers match'} ${file}`] : []),
  ])
  return isFine ? 0 : DRIFTED
}

/** Adds new definitions to the lock; returns 1 if any accepted definition has changed. */
async function writePins(call: CommandCall, current: CurrentPins): Promise<number> {
  const [{ comparePins, addNewPins, dropMissingPins }, { writeLock }] = await Promise.all([
    import('./compare-pins.ts'),
    import('./lock-file.ts'),
  ])
  const { file, accepted, described, config } = current
  const isPruning = call.flags.prune === true
  const retained = [...(accepted ?? [])].filter(([name]) => !isPruning || config.upstreams[name] !== undefined)
  const lock = new Map<string, UpstreamPins>(retained)
  const rows = described.map(({ upstream, pins, problem }) => {
    if (pins === undefined) return { upstream, problem, isFirst: false, added: [], changed: [] }
    const before = accepted?.get(upstream)
    const next = addNewPins(before, pins)
    lock.set(upstream, isPruning ? dropMissingPins(next, pins) : next)
    const changes = comparePins(before, pins)
    const changed = comparePins(next, pins).filter(({ status }) => status !== 'gone')
    const added = changes.filter(({ status }) => status === 'new')
    return { upstream, problem, isFirst: before === undefined, added, changed }
  })
  writeLock(file, lock)
  await reloadGateway(call)
  call.print({ file, upstreams: rows }, () => [...rows.flatMap(formatLockRow), `wrote ${file}`])
  return rows.every(({ problem, changed }) => problem === undefined && changed.length === 0) ? 0 : DRIFTED
}

interface LockRow {
  readonly upstream: string
  readonly problem: string | undefined
  /** True if the upstream was not in the lock before. */
  readonly isFirst: boolean
  readonly added: readonly PinChange[]
  readonly changed: readonly PinChange[]
}

function formatLockRow({ upstream, problem, isFirst, added, changed }: LockRow): string[] {
  if (problem !== undefined) return [`${upstream}: unchanged in the file, as the server is unavailable: ${problem}`]
  return [
    `${upstream}: ${added.length} added`,
    ...(isFirst ? [] : added.map(change => `${upstream}: ${formatChangeName(change)} is new, added`)),
    ...changed.map(
      change =>
        `${upstream}: ${formatChangeName(change)} has changed, accepted version kept – review with gateway lock diff ${upstream}`,
    ),
  ]
}

async function acceptPins(call: CommandCall, name: string, expect: string): Promise<number> {
  const { file, accepted, described } = await loadPins(call, name)
  const [{ hashPins, comparePins }, { writeLock }, { pinsError }] = await Promise.all([
    import('./compare-pins.ts'),
    import('./lock-file.ts'),
    import('./errors.ts'),
  ])
  const [one] = described
  if (one?.pins === undefined) {
    const { gatewayError } = await import('../../src/plugin.ts')
    throw gatewayError('GW_UPSTREAM_DOWN', { upstream: name, why: one?.problem ?? 'no description' })
  }
  const hash = hashPins(one.pins)
  if (hash !== expect) throw pinsError('GW_PINS_EXPECT', { upstream: name, found: hash })
  const changes = comparePins(accepted?.get(name), one.pins)
  writeLock(file, new Map([...(accepted ?? []), [name, one.pins]]))
  await reloadGateway(call)
  call.print({ file, upstream: name, hash, accepted: changes.length }, () => [
    ...changes.map(change => `${name}: ${formatChangeName(change)} ${change.status}, accepted`),
    `wrote ${file}`,
  ])
  return 0
}

/** Reloads the running gateway, if there is one. */
async function reloadGateway(call: CommandCall): Promise<void> {
  try {
    await call.withGateway('running', ask => ask('reload'))
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown }
    if (code !== 'GW_NO_GATEWAY') call.err.line(`the running gateway could not reload: ${toOneLine(String(message))}`)
  }
}

function formatDiff(
  row: { upstream: string; problem?: string; hash?: string; changes?: readonly PinChange[] },
  { out }: CommandCall,
): string[] {
  const { upstream, problem, hash, changes = [] } = row
  if (problem !== undefined) return [`${out.paint('bold', upstream)} is unavailable: ${problem}`]
  if (changes.length === 0) return [`${out.paint('bold', upstream)} matches the file`]
  return [
    out.paint('bold', upstream),
    ...changes.flatMap(change => [
      `  ${formatChangeName(change)} ${change.status}`,
      ...change.lines.map(line => `    ${line}`),
      ...change.findings.map(text => `    ${out.paint('yellow', 'note')} ${text}`),
    ]),
    `  gateway lock accept ${upstream} --expect ${hash ?? ''}`,
  ]
}

function formatChangeName({ what: kind, name }: PinChange): string {
  return kind === name ? kind : `${kind} ${JSON.stringify(name)}`
}
