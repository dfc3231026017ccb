/** All that a gateway nobody notices must reach, and what of it a result reaches. */
import { LIMITS, limitedCost } from './alone/limits.ts'
import type { Measured } from './load/messages.ts'
import { measuredOf } from './measure.ts'
import type { Result } from './output/result.ts'
import type { SoakResult } from './soak.ts'
import { short } from './output/table.ts'
import { PAYLOADS } from './peers/payloads.ts'

/** One figure that is held against a limit. */
export interface Figure {
  readonly what: string
  readonly value: string
  readonly isMet: boolean
}

/** A row of the table; without figures it was not measured. */
export interface Reached {
  readonly key: string
  readonly work: string
  readonly limit: string
  readonly figures: readonly Figure[]
}

const ALL = 'gateway, all plugins'
const MB_WIRINGS = [
  ['http-http', 'HTTP→HTTP'],
  ['http-stdio', 'HTTP→stdio'],
  ['stdio-stdio', 'stdio→stdio'],
  ['stdio-http', 'stdio→HTTP'],
] as const
/** MB per minute that noise and garbage may look like. */
const FLAT = 0.5

/** Every row, in the order of the issue that set them. */
export function reachedBy(result: Result, soak: SoakResult | undefined): readonly Reached[] {
  return [
    {
      key: 'http-http',
      work: 'small call HTTP→HTTP, 16 and 64 at once',
      limit: '≤ 0.8 × raw proxy',
      figures: [16, 64].flatMap(at => toRaw(result, 'small-http-http', at, 0.8, `${at}`)),
    },
    {
      key: 'http-stdio',
      work: 'small call HTTP→stdio',
      limit: '≤ 1.5 × raw bridge',
      figures: [16, 64].flatMap(at => toRaw(result, 'small-http-stdio', at, 1.5, `${at}`)),
    },
    {
      key: 'stdio-stdio',
      work: 'small call stdio→stdio',
      limit: '≤ 2.2 × raw pipe',
      figures: [16, 64].flatMap(at => toRaw(result, 'small-stdio-stdio', at, 2.2, `${at}`)),
    },
    {
      key: 'burst',
      work: 'small call stdio→stdio, in bursts',
      limit: '≤ 3 × raw pipe',
      figures: [16, 64].flatMap(at => toRaw(result, 'burst-stdio-stdio', at, 3, `${at}`)),
    },
    {
      key: 'kb',
      work: '10 KB reply, HTTP→HTTP',
      limit: '≤ 1.0 × raw',
      figures: toRaw(result, '10k-http-http', 16, 1, 'JSON lines'),
    },
    {
      key: 'mb',
      work: '1 MB reply, every wiring and payload',
      limit: '≤ 1.3 × raw',
      figures: [
        ...MB_WIRINGS.flatMap(([wiring, words]) => toRaw(result, `1m-${wiring}`, 16, 1.3, words)),
        ...PAYLOADS.flatMap(kind => toRaw(result, `1m-${kind}`, 16, 1.3, kind)),
      ],
    },
    {
      key: 'upload',
      work: '1 MB request, every wiring',
      limit: '≤ 1.5 × raw',
      figures: MB_WIRINGS.flatMap(([wiring, words]) => {
        const at = wiring.endsWith('-stdio') ? 1 : 16
        return toRaw(result, `upload-${wiring}`, at, 1.5, words)
      }),
    },
    {
      key: 'bridge',
      work: 'modern→legacy and legacy→modern small call',
      limit: '≤ 1.3 × same-era pair',
      figures: [
        ...bridged(result, 'small-modern-legacy', 'small-http-http-modern', 'modern→legacy'),
        ...bridged(result, 'small-legacy-modern', 'small-http-http', 'legacy→modern'),
      ],
    },
    {
      key: 'list',
      work: 'tools/list, 1,000 tools, cached',
      limit: 'faster than one server; CPU ≤ writing the bytes',
      figures: lists(result),
    },
    {
      key: 'latency',
      work: 'added p50, 1 at once, one core',
      limit: '≤ 60 µs HTTP→HTTP, ≤ 30 µs stdio→stdio',
      figures: [
        ...added(result, 'http-http', 60, 'HTTP→HTTP'),
        ...added(result, 'stdio-stdio', 30, 'stdio→stdio'),
      ],
    },
    {
      key: 'plugins',
      work: 'a plugin alone, no I/O, µs a call',
      limit: LIMITS.map(({ name, micros }) => `${name} ≤ ${micros}`).join(', '),
      figures: LIMITS.flatMap(limit => {
        const cost = limitedCost(limit, result.plugins ?? [])
        return cost === undefined ? [] : [figure(limit.name, cost.least, limit.micros, 'µs')]
      }),
    },
    {
      key: 'cold',
      work: 'cold start to first list, saved catalogue, 20 stdio upstreams',
      limit: '≤ 2 × node -e 0, below every peer',
      figures: cold(result),
    },
    {
      key: 'memory',
      work: 'RSS',
      limit: '≤ 90 MB idle, ≤ 40 KB per session, flat over 10 minutes',
      figures: memory(result, soak),
    },
    {
      key: 'commands',
      work: '`gateway --version`, `gateway validate`',
      limit: '< 2 ×, < 4 × node -e 0',
      figures: [...toNode(result, 'version', 2, '--version'), ...toNode(result, 'validate', 4, 'validate')],
    },
  ]
}

function figure(what: string, value: number, limit: number, unit = '×'): Figure {
  return { what, value: `${unit === '×' ? value.toFixed(2) : short(value)} ${unit}`, isMet: value <= limit }
}

function ours(result: Result, key: string, at: number, label = ALL): Measured | undefined {
  return measuredOf(result.works, key, at, label)
}

/** CPU per call as a ratio to the yardstick. */
function toRaw(result: Result, key: string, at: number, limit: number, what: string): Figure[] {
  const [own, raw] = [ours(result, key, at)?.cpu, ours(result, key, at, 'raw')?.cpu]
  return own === undefined || raw === undefined ? [] : [figure(what, own / raw, limit)]
}

function bridged(result: Result, key: string, sameEra: string, what: string): Figure[] {
  const [own, same] = [ours(result, key, 16)?.cpu, ours(result, sameEra, 16)?.cpu]
  return own === undefined || same === undefined ? [] : [figure(what, own / same, 1.3)]
}

function lists(result: Result): Figure[] {
  const own = ours(result, 'list-1000', 16)
  const direct = ours(result, 'list-1000', 16, 'direct')
  const writer = ours(result, 'list-1000', 16, 'writes the list')
  if (own === undefined || direct === undefined) return []
  const speed = {
    what: 'requests/s ÷ one server',
    value: `${(own.rps / direct.rps).toFixed(2)} ×`,
    isMet: own.rps > direct.rps,
  }
  const cost =
    own.cpu === undefined || writer?.cpu === undefined
      ? []
      : [figure('CPU ÷ writing the bytes', own.cpu / writer.cpu, 1)]
  return [speed, ...cost]
}

function added(result: Result, wiring: string, limit: number, what: string): Figure[] {
  const [own, direct] = [
    ours(result, `one-core-${wiring}`, 1),
    ours(result, `one-core-${wiring}`, 1, 'direct'),
  ]
  return own === undefined || direct === undefined
    ? []
    : [figure(what, (own.p50 - direct.p50) * 1000, limit, 'µs')]
}

function startOf({ starts }: Result, key: string): number | undefined {
  return starts.find(start => start.key === key)?.median
}

function toNode(result: Result, key: string, limit: number, what: string): Figure[] {
  const [own, node] = [startOf(result, key), startOf(result, 'node')]
  return own === undefined || node === undefined ? [] : [figure(what, own / node, limit)]
}

function cold(result: Result): Figure[] {
  const own = startOf(result, 'cold-saved-20')
  const rivals = result.starts.filter(({ key }) => /^rival .* 20$/.test(key))
  const best = rivals.toSorted((a, b) => a.median - b.median)[0]
  const compared =
    own === undefined || best === undefined
      ? []
      : [figure(`÷ fastest peer (${best.title.split(',')[0] ?? ''})`, own / best.median, 1)]
  return [...toNode(result, 'cold-saved-20', 2, '÷ node -e 0'), ...compared]
}

function memory(result: Result, soak: SoakResult | undefined): Figure[] {
  const of = (key: string): number | undefined => result.memory.find(figure => figure.key === key)?.value
  const [idle, session, stream] = [of('idle'), of('session'), of('session-stream')]
  return [
    ...(idle === undefined ? [] : [figure('idle, 5 upstreams', idle, 90, 'MB')]),
    ...(session === undefined ? [] : [figure('per session', session, 40, 'KB')]),
    ...(stream === undefined ? [] : [figure('per session with a stream', stream, 40, 'KB')]),
    ...(soak === undefined
      ? []
      : [figure(`soak of ${Math.round(soak.ms / 60_000)} min, growth`, soak.slope, FLAT, 'MB/min')]),
  ]
}
