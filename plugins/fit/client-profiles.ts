import { BoundedMap, compileGlobs } from '../../src/plugin.ts'
import table from './clients.json' with { type: 'json' }

/** JSON Schema dialect that the client's model accepts. */
export type Dialect = 'full' | 'common' | 'gemini'

export type Characters = 'word' | 'any'

/** Client limits and capabilities. */
export interface ClientProfile {
  readonly client: string
  /** Maximum tool name length, including the client's own prefix; undefined for no limit. */
  readonly longestName: number | undefined
  /** Prefix that the client adds to names; `{server}` is the gateway's name. */
  readonly prefix: string
  readonly dialect: Dialect
  readonly characters: Characters
  readonly mostTools: number | undefined
  /** How long the client waits for a call; undefined if unknown. */
  readonly patience: string | number | undefined
  /** Maximum result size in tokens that the client passes on completely. */
  readonly largestResult: number | undefined
  /** False if the client shows no resources. */
  readonly resources: boolean
  /** False if the client shows no prompts. */
  readonly prompts: boolean
  /** True if the client uses the skills extension, although it may not announce it. */
  readonly skills: boolean
}

/** Table row; missing members are unknown limits or the defaults. */
type ClientRow = Partial<Record<keyof ClientProfile, unknown>> & {
  readonly client: string
  readonly match: readonly string[]
}

/** Client settings from the configuration, keyed by a name glob. */
type ConfiguredClients = Readonly<
  Record<
    string,
    Partial<Omit<ClientProfile, 'client'>> & {
      readonly like?: string
    }
  >
>

const ROWS: readonly ClientRow[] = table.clients
/** Longer names are treated as unknown clients, so that the cache stays bounded. */
const MAX_CLIENT_LENGTH = 200
const MAX_CACHED = 1000
/** Suffix that bridges append to the client name, such as `cursor (via mcp-remote 0.1)`. */
const VIA = / \(via .*$/

export const CLIENTS: readonly string[] = ROWS.map(({ client }) => client)

const DEFAULTS = {
  longestName: undefined,
  mostTools: undefined,
  patience: undefined,
  largestResult: undefined,
  resources: true,
  prompts: true,
  skills: false,
}

const UNKNOWN = parseClientRow({ ...table.unknown, match: [] })

/** Finds a client's profile by the name in its `clientInfo`. */
export class ClientProfiles {
  readonly all: readonly ClientProfile[]
  readonly #rows: readonly { readonly matches: (name: string) => boolean; readonly profile: ClientProfile }[]
  readonly #profiles = new BoundedMap<string, ClientProfile>({ max: MAX_CACHED })

  constructor(own: ConfiguredClients) {
    const mine = Object.entries(own).map(([pattern, { like, ...values }]) => {
      const base = like === undefined ? UNKNOWN : (findTableProfile(like) ?? UNKNOWN)
      return {
        matches: compileGlobs(pattern.toLowerCase()),
        profile: { ...base, ...values, client: pattern },
      }
    })
    const builtInRows = ROWS.map(row => ({
      matches: compileGlobs([row.client, ...row.match]),
      profile: parseClientRow(row),
    }))
    this.#rows = [...mine, ...builtInRows]
    this.all = [...this.#rows.map(({ profile }) => profile), UNKNOWN]
  }

  /** Returns the profile for a client name; the unknown profile if no row matches. */
  getProfile(name: string): ClientProfile {
    if (name.length > MAX_CLIENT_LENGTH) return UNKNOWN
    const cached = this.#profiles.use(name)
    if (cached !== undefined) return cached
    const plain = name.replace(VIA, '').toLowerCase()
    const profile = this.#rows.find(({ matches }) => matches(plain))?.profile ?? UNKNOWN
    this.#profiles.set(name, profile)
    return profile
  }

  /** Returns this row's profile, or else the one for this client name. */
  getNamedProfile(client: string): ClientProfile {
    return this.all.find(one => one.client === client) ?? this.getProfile(client)
  }
}

function findTableProfile(client: string): ClientProfile | undefined {
  const row = ROWS.find(one => one.client === client)
  return row && parseClientRow(row)
}

function parseClientRow({ match: _, ...row }: ClientRow): ClientProfile {
  return { ...DEFAULTS, ...row } as ClientProfile
}
