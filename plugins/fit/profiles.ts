import { BoundedMap, compileGlobs } from '../../src/plugin.ts'
import table from './clients.json' with { type: 'json' }

/** Schemas that the model behind a client takes. */
export type Dialect = 'full' | 'common' | 'anthropic' | 'openai' | 'gemini'

/** Characters that names may have. */
export type Characters = 'word' | 'any'

/** Lists that one client can read: names, schemas and kinds of things. */
export interface ClientProfile {
  readonly client: string
  /** Most characters of a tool's name, with the client's own prefix; undefined for any number. */
  readonly longestName: number | undefined
  /** Text before names; `{server}` stands for the name of the gateway. */
  readonly prefix: string
  readonly dialect: Dialect
  /** Characters of names: letters, digits, `_` and `-`, or any. */
  readonly characters: Characters
  readonly mostTools: number | undefined
  /** How long it waits for the answer of a call; undefined where nobody knows. */
  readonly patience: string | number | undefined
  /** Most tokens of a result that it takes whole. */
  readonly largestResult: number | undefined
  /** False if it shows no resources. */
  readonly resources: boolean
  /** False if it shows no prompts. */
  readonly prompts: boolean
}

/** A row of clients.json. */
interface ClientRow {
  readonly client: string
  readonly match: readonly string[]
  readonly longestName?: number
  readonly prefix: string
  readonly dialect: string
  readonly characters: string
  readonly mostTools?: number
  readonly patience?: string
  readonly largestResult?: number
  readonly resources?: boolean
  readonly prompts?: boolean
}

/** Settings of clients in the configuration, by a glob for their names. */
type ConfiguredClients = Readonly<
  Record<
    string,
    Partial<Omit<ClientProfile, 'client'>> & {
      readonly like?: string
    }
  >
>

const ROWS: readonly ClientRow[] = table.clients
/** Names are remembered up to this length; a longer one is nobody's. */
const MAX_CLIENT_LENGTH = 200
const MAX_CACHED = 1000
/** Words that bridges put behind the name of the client that they speak for, such as `cursor (via mcp-remote 0.1)`. */
const VIA = / \(via .*$/

/** Names of the clients in the table. */
export const CLIENTS: readonly string[] = ROWS.map(({ client }) => client)

const UNKNOWN = parseClientRow(table.unknown)

/** Finds what a client can read by the name that it introduces itself with. */
export class ClientProfiles {
  readonly all: readonly ClientProfile[]
  readonly #rows: readonly { readonly matches: (name: string) => boolean; readonly profile: ClientProfile }[]
  readonly #known = new BoundedMap<string, ClientProfile>({ max: MAX_CACHED })

  constructor(own: ConfiguredClients) {
    const mine = Object.entries(own).map(([pattern, { like, ...values }]) => {
      const base = like === undefined ? UNKNOWN : (findTableProfile(like) ?? UNKNOWN)
      return {
        matches: compileGlobs(pattern.toLowerCase()),
        profile: { ...base, ...values, client: pattern },
      }
    })
    const known = ROWS.map(row => ({
      matches: compileGlobs([row.client, ...row.match]),
      profile: parseClientRow(row),
    }))
    this.#rows = [...mine, ...known]
    this.all = [...this.#rows.map(({ profile }) => profile), UNKNOWN]
  }

  /** The profile of a client; that of unknown ones where no row is about it. */
  getProfile(name: string): ClientProfile {
    if (name.length > MAX_CLIENT_LENGTH) return UNKNOWN
    const known = this.#known.use(name)
    if (known !== undefined) return known
    const plain = name.replace(VIA, '').toLowerCase()
    const found = this.#rows.find(({ matches }) => matches(plain))?.profile ?? UNKNOWN
    this.#known.set(name, found)
    return found
  }

  /** The profile of this row, or of the client that introduces itself so. */
  getNamedProfile(client: string): ClientProfile {
    return this.all.find(one => one.client === client) ?? this.getProfile(client)
  }
}

function findTableProfile(client: string): ClientProfile | undefined {
  const row = ROWS.find(one => one.client === client)
  return row && parseClientRow(row)
}

function parseClientRow({ resources = true, prompts = true, ...row }: ClientRow): ClientProfile {
  const { client, prefix, longestName, mostTools, patience, largestResult } = row
  const dialect = row.dialect as Dialect
  const characters = row.characters as Characters
  const lists = { longestName, prefix, dialect, characters, mostTools }
  return { client, ...lists, patience, largestResult, resources, prompts }
}
