/** The built-in plugins, each as a configuration that makes it work on every call. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'

/** All that one plugin needs in a configuration: sections, and keys of each upstream. */
interface Feature {
  readonly sections?: Readonly<Record<string, unknown>>
  readonly upstream?: Readonly<Record<string, unknown>>
  /** Of each HTTP upstream alone. */
  readonly httpUpstream?: Readonly<Record<string, unknown>>
}

interface Place {
  readonly upstreams: readonly string[]
  /** Those that have headers. */
  readonly httpUpstreams: readonly string[]
  /** A directory for what is written. */
  readonly directory: string
}

/** The key that the load client shows where `auth` is on. */
export const API_KEY = 'gwk_for-the-bench-alone'
const KEY_HASH = `sha256:${createHash('sha256').update(API_KEY).digest('hex')}`

const FEATURES = {
  routing: ({ upstreams: [first = ''] }: Place): Feature => ({
    sections: {
      routes: [
        { match: { tool: 'forbidden_*' }, deny: 'not for you' },
        { match: { tool: `${first}__*` }, to: first },
      ],
    },
  }),
  filter: (): Feature => ({ sections: { filters: { tools: { deny: ['secret_*', '*_danger'] } } } }),
  'session headers': ({ httpUpstreams: upstreams }: Place): Feature =>
    upstreams.length === 0 ? {} : { sections: { sessionHeaders: { header: 'X-Session-ID', upstreams } } },
  cache: (): Feature => ({ sections: { cache: { lists: '5m' } } }),
  resilience: (): Feature => ({
    upstream: { timeout: '30s', limits: { concurrency: 1000 }, breaker: {}, retry: {} },
  }),
  'rate limits': (): Feature => limits({ inFlight: 100_000 }),
  metrics: (): Feature => ({ sections: { metrics: {} } }),
  audit: ({ directory }: Place): Feature => ({
    sections: { audit: { file: join(directory, 'audit-{pid}.jsonl'), maxSize: '8MiB', keep: 1 } },
  }),
  // No collector listens there: spans are written, and dropped once the queue is full.
  tracing: (): Feature => ({ sections: { tracing: { endpoint: 'http://127.0.0.1:1' } } }),
  activity: ({ directory }: Place): Feature => ({
    sections: { activity: { file: join(directory, `activity-${process.pid}.db`) } },
  }),
  profiles: (): Feature => ({ sections: { profiles: { readers: { tools: { deny: ['*write*'] } } } } }),
  'forward headers': (): Feature => ({ httpUpstream: { forwardHeaders: ['X-Tenant'] } }),
  rest: (): Feature => ({ sections: { rest: {} } }),
  // At most 100,000 can be said for a minute, and most works make more: this one is measured where fewer are made.
  'limit per minute': (): Feature => limits({ perMinute: 100_000 }),
  // Each call is written to a file before it goes on.
  'quota per day': (): Feature => limits({ perDay: 1_000_000_000_000 }),
  // Five rules for the tools of the server, read for each call, and five hundred for others.
  policy: ({ upstreams: [first = ''] }: Place): Feature => ({
    sections: {
      policy: {
        deny: [
          { for: `${first}__*`, when: 'args.?path.orValue("").startsWith("/etc")' },
          { for: `${first}__*`, when: 'args.?force.orValue(false)' },
          ...others('deny'),
        ],
        require: [{ for: `${first}__*`, when: '!has(args.path) || args.path.size() < 1000' }],
        allow: [`tool.name.startsWith("${first}__")`],
        ask: [{ for: `${first}__*`, when: 'args.?amount.orValue(0.0) > 100.0' }],
      },
      approve: {},
    },
  }),
  // A person is asked about other tools: the price of a call that nobody is asked about.
  approve: (): Feature => ({
    sections: { policy: { ask: [{ for: 'other__*', when: 'true' }] }, approve: {} },
  }),
  pins: (): Feature => ({ sections: { pins: 'warn' } }),
  redact: (): Feature => ({
    sections: { redact: { rules: [{ detect: ['secrets', 'personal'], action: 'mask' }] } },
  }),
  // No result of the bench is long enough to be cut: the price of looking.
  shape: (): Feature => ({ sections: { shape: { maxTokens: 8000, patience: '25s' } } }),
  fit: (): Feature => ({ sections: { fit: {} } }),
  surface: (): Feature => ({ sections: { surface: { mode: 'compact' } } }),
  ui: (): Feature => ({ sections: { ui: {} } }),
  auth: (): Feature => ({ sections: { auth: { keys: [{ name: 'bench', hash: KEY_HASH }] } } }),
}

/** Five hundred rules for tools that nobody calls. */
function others(effect: string): object[] {
  const rule = (_: unknown, index: number): object => ({
    for: `other${index}__*`,
    when: `args.?path.orValue("") == "/${effect}/${index}"`,
  })
  return Array.from({ length: 500 }, rule)
}

function limits(rule: object): Feature {
  return { sections: { rateLimit: { rules: { everyone: rule } } } }
}

/** Not among all plugins: two replace the one that is, one asks the load client for a key, and the others are rows of their own. */
const APART: readonly string[] = [
  'limit per minute',
  'quota per day',
  'auth',
  'tracing',
  'activity',
  'policy',
  'approve',
  'pins',
  'redact',
  'shape',
  'fit',
  'surface',
  'ui',
]

export type FeatureName = keyof typeof FEATURES

export const FEATURE_NAMES = Object.keys(FEATURES) as readonly FeatureName[]

/** Plugins that are on: none, all, all and authentication too, or one. */
export type Plugins = 'none' | 'all' | 'auth too' | FeatureName

/** Nothing that taps a hook: not even deadlines, turns, breakers and retries, which are on by default. */
const BARE: Feature = {
  sections: { cache: false },
  upstream: { timeout: 0, limits: { concurrency: 0 }, breaker: false, retry: false },
}

/** All that a configuration needs for these plugins. */
export function featuresOf(plugins: Plugins, place: Place): Required<Feature> {
  const parts = [BARE, ...namesOf(plugins).map(name => FEATURES[name](place))]
  return {
    sections: Object.assign({}, ...parts.map(({ sections }) => sections)) as Record<string, unknown>,
    upstream: Object.assign({}, ...parts.map(({ upstream }) => upstream)) as Record<string, unknown>,
    httpUpstream: Object.assign({}, ...parts.map(({ httpUpstream }) => httpUpstream)) as Record<string, unknown>,
  }
}

function namesOf(plugins: Plugins): readonly FeatureName[] {
  if (plugins === 'none') return []
  if (plugins !== 'all' && plugins !== 'auth too') return [plugins]
  return FEATURE_NAMES.filter(name => !APART.includes(name) || (name === 'auth' && plugins === 'auth too'))
}
