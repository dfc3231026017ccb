import type { HealthFinding, JsonObject, Metric, Plugin, PluginApi, Report } from '../../src/plugin.ts'
import { BoundedMap, appendPointer, defineFindings, readList, readMap, readText, readValue } from '../../src/plugin.ts'
import { ERRORS } from './errors.ts'
import type { Drift, Mode, Status } from './pin-judge.ts'
import { PinJudge, listModes, shouldWithhold } from './pin-judge.ts'
import { lockPath, readLock } from './lock-file.ts'

const HEALTH = {
  'pins-held': {
    level: 'warning',
    text: '{count} definitions of {upstream} differ from gateway.lock and are withheld',
    fix: 'Review with: gateway lock diff {upstream}',
  },
  'pins-changed': {
    level: 'warning',
    text: '{count} definitions of {upstream} differ from gateway.lock and are passed on',
    fix: 'gateway lock diff {upstream}',
  },
  'pins-no-lock': {
    level: 'warning',
    text: 'gateway.lock not found: no definitions have been accepted',
    fix: 'Run "gateway lock", review the file, and commit it with gateway.yaml',
  },
} as const

const createFinding = defineFindings(HEALTH)

/** Lists findings from the latest comparison of each upstream. */
function listHealthFindings(judge: PinJudge, modes: ReadonlyMap<string, Mode>, hasLock: boolean): HealthFinding[] {
  if (!hasLock) return [createFinding('pins-no-lock')]
  return [...judge.counts()].flatMap(([upstream, counts]) => {
    const mode = modes.get(upstream) ?? 'off'
    const isHeld = shouldWithhold(mode, 'changed')
    const held = (isHeld ? counts.changed : 0) + (shouldWithhold(mode, 'new') ? counts.new : 0)
    return [
      ...(held > 0 ? [createFinding('pins-held', { upstream, count: held })] : []),
      ...(!isHeld && counts.changed > 0 ? [createFinding('pins-changed', { upstream, count: counts.changed })] : []),
    ]
  })
}

/** Hashes and reported differences, across generations. */
interface DriftLog {
  readonly hashes: WeakMap<JsonObject, string>
  readonly drifts: BoundedMap<string, true>
}

const MAX_LOGGED = 10_000

const STATUS_TEXTS: Readonly<Record<Status, string>> = {
  same: 'the one in gateway.lock',
  new: 'not in gateway.lock',
  changed: 'different from gateway.lock',
}

/** Withholds definitions that differ from those accepted in gateway.lock. */
export const pins: Plugin<Mode> = {
  name: 'pins',
  claims: { section: 'pins', upstream: ['pins'] },
  errors: ERRORS,
  health: HEALTH,
  check: checkPinsConfig,
  reads: config => (listModes(config).size === 0 ? [] : ['gateway.lock']),
  commands: () => import('./commands.ts'),
  setup(api) {
    const { config, directory, hooks, log, slot } = api
    const modes = listModes(config)
    if (modes.size === 0) return
    const file = lockPath(directory)
    const lock = readLock(file)
    if (lock === undefined)
      log.warn('gateway.lock not found: no definitions have been accepted', {
        file,
        hint: 'run "gateway lock", review the file, and commit it with gateway.yaml',
      })
    const driftLog = slot.gateway<DriftLog>(() => ({
      hashes: new WeakMap(),
      drifts: new BoundedMap({ max: MAX_LOGGED }),
    }))
    const judge = new PinJudge({
      lock,
      modes,
      hashes: driftLog.hashes,
      onDrift: drift => reportDrift(drift, driftLog, api),
    })

    // First, to judge definitions before other plugins rename, rewrite or hide them.
    hooks.catalog.tap({ stage: 'trace', checksUris: [...modes.values()].some(mode => mode !== 'warn') }, entries =>
      entries.map(entry => judge.judge(entry)),
    )
    hooks.instructions.tap({ stage: 'trace' }, all => judge.instructions(all))
    hooks.explain.tap((steps, { entry }) => {
      const pin = entry?.marks?.pin
      if (pin === undefined) return undefined
      const does = entry?.refusal === undefined ? 'passes' : 'refuses'
      return [...steps, { by: 'pins', at: 'listing', does, text: `its definition is ${STATUS_TEXTS[pin as Status]}` }]
    })
    hooks.status.tap(status => {
      const counts = judge.counts().get(status.name)
      return counts === undefined ? status : { ...status, pins: { mode: modes.get(status.name), ...counts } }
    })
    hooks.metrics.tap(figures => [...figures, createMetric(judge)])
    hooks.health.tap(findings => [...findings, ...listHealthFindings(judge, modes, lock !== undefined)])
  },
}

/** Reports each difference once: in the log and the audit log. */
function reportDrift(drift: Drift, driftLog: DriftLog, { log, record }: PluginApi<Mode>): void {
  const { upstream, what: kind, name, hash, status, isWithheld } = drift
  const key = JSON.stringify([upstream, kind, name, hash, status])
  if (driftLog.drifts.has(key)) return
  driftLog.drifts.set(key, true)
  const label = kind === 'instructions' ? 'instructions' : `${kind} "${name}"`
  log.warn(`${label} of upstream "${upstream}": ${status}, and ${isWithheld ? 'withheld' : 'passed on'}`, {
    upstream,
    hash,
    hint: `gateway lock diff ${upstream}`,
  })
  record({
    kind: 'definition',
    name,
    outcome: isWithheld ? 'withheld' : status,
    fields: { upstream, what: kind, status, hash },
  })
}

function createMetric(judge: PinJudge): Metric {
  const samples = [...judge.counts()].flatMap(([upstream, own]) =>
    Object.entries(own).map(([status, value]) => ({ labels: { upstream, status }, value })),
  )
  const help = 'Definitions by status in the last comparison with gateway.lock.'
  return { name: 'tapgate_pins', type: 'gauge', help, samples }
}

/** Reports pinned servers whose program may change. */
function checkPinsConfig(config: unknown, report: Report): void {
  for (const name of Object.keys(readMap(config, 'upstreams'))) checkVersion(name, config, report)
}

/** Programs that run the newest version of a package or image, unless an argument names a version. */
const RUNNERS = /(?:^|\/)(?:npx|bunx|pnpx|uvx|docker|podman)$/
const EXACT_VERSION = /.(?:@|==)\d+\.\d|@sha256:/

function checkVersion(name: string, config: unknown, report: Report): void {
  const mode = readValue(config, 'upstreams', name, 'pins') ?? readValue(config, 'pins') ?? 'off'
  const command = readText(config, 'upstreams', name, 'command') ?? ''
  const args = readList(config, 'upstreams', name, 'args')
  if (mode === 'off' || !RUNNERS.test(command) || args.some(arg => EXACT_VERSION.test(String(arg)))) return
  report({
    pointer: `${appendPointer('/upstreams', name)}/command`,
    message: `${command} runs the newest version of "${name}", and "pins" does not compare programs`,
    hint: 'name an exact version, such as name@1.2.3',
    severity: 'warning',
  })
}
