import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Upstream, UpstreamConfig, UpstreamContext } from '../../api/index.ts'
import { formatProblem, type LoadedConfig, type Problem } from '../../config/index.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { Secrets } from '../../util/secrets.ts'
import type { Generation } from '../generation.ts'
import { loadConfig, withoutTraces } from '../load-config.ts'
import { changesAnything, differencesOf } from './differences.ts'
import { changedVerdicts } from './verdicts.ts'
import { type Planned, plannedOf, serverDigest, standIn } from './plan.ts'
import type { Surroundings } from '../generation.ts'

const SALT_BYTES = 16
const MOST_BYTES = 1024 * 1024

type Ask = (verb: string, params: JsonObject) => Promise<JsonObject>

/** A gateway of which nothing is started but what stands in for its servers. */
interface Built {
  start(): Promise<void>
  settled(): Promise<void>
  close(): Promise<void>
  readonly generation: Pick<Generation, 'graph' | 'loaded' | 'added'>
  readonly control: Ask
}

/** The gateway that runs, as a plan compares it. */
export interface Present {
  readonly loaded: LoadedConfig
  readonly control: Ask
  planned(salt: string): Promise<Planned>
}

/** The gateway that runs, and the means to make a plan of a text. */
export interface Planning extends Present {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Builds another one, which saves nothing. */
  beside(source: LoadedConfig, upstream: Surroundings['upstream']): Promise<Built>
}

/**
 * Answers the verb `plan`: the differences that a text would make as the configuration. A text may come from anywhere, so
 * nothing of it is run: no server, no command for a secret, no plugin that is not here already. A server that is
 * another one then is told as unknown.
 */
export async function planOf(gateway: Planning, { yaml }: JsonObject): Promise<object> {
  if (typeof yaml !== 'string' || Buffer.byteLength(yaml) > MOST_BYTES)
    throw gatewayError('GW_VERB_PARAMS', { verb: 'plan', why: '"yaml" must be a text of at most 1 MiB' })
  const next = await read(gateway, yaml)
  if ('problems' in next) return { ...next, changes: false }
  const { hide } = new Secrets(next.secrets)
  return hiddenIn(await compared(gateway, next), hide) as object
}

/** Reads the text as if it stood in the file of the configuration; relative paths in it are as there. */
async function read(
  { loaded, environment }: Planning,
  text: string,
): Promise<LoadedConfig | { readonly problems: string[] }> {
  const { file, directory, config } = loaded
  try {
    const next = await loadConfig({
      ...{ file: file ?? join(directory, 'gateway.yaml'), text, cwd: directory, environment },
      commands: 'leave',
    })
    const known = new Set(Object.values(config.plugins).map(({ use }) => use))
    const foreign = Object.entries(next.config.plugins).filter(([, { use }]) => !known.has(use))
    if (foreign.length === 0) return next
    return {
      problems: foreign.map(
        ([name]) =>
          `/plugins/${name} is a plugin that is not loaded here, and no code is run for this: "gateway plan -c new.yaml" runs it`,
      ),
    }
  } catch (error) {
    if (error instanceof GatewayError && error.code === 'GW_CONFIG_INVALID')
      return { problems: problemsIn(error).map(problem => formatProblem(problem, directory)) }
    throw error
  }
}

function problemsIn({ fields }: GatewayError): readonly Problem[] {
  return Array.isArray(fields.problems) ? (fields.problems as Problem[]) : []
}

async function compared(gateway: Planning, next: LoadedConfig): Promise<object> {
  const salt = randomBytes(SALT_BYTES).toString('hex')
  const now = await gateway.planned(salt)
  const source = withoutTraces({ ...next, config: { ...next.config, listeners: {} } })
  const built = await gateway.beside(source, standInsOf(now, salt))
  try {
    await built.start()
    await built.settled()
    const then = await plannedOf(built.generation, salt, next.config)
    const verdicts = await changedVerdicts(now.recent, gateway.control, (verb, params) =>
      built.control(verb, params),
    )
    const plan = { ...differencesOf(now, then), verdicts, compared: now.recent.length }
    return { ...plan, changes: changesAnything(plan) }
  } finally {
    await built.close()
  }
}

/** Servers that go on stand in with their own lists, others are not there. */
function standInsOf({ servers }: Planned, salt: string): Surroundings['upstream'] {
  const known = new Map(servers.map(server => [server.name, server]))
  return (spec, context) => {
    const before = known.get(context.name)
    const isKept = before?.tools !== undefined && before.digest === serverDigest(spec, salt)
    return isKept ? standIn(spec, context, before.tools ?? []) : absent(spec, context)
  }
}

/** Stands for a server that nobody starts for a plan. */
function absent(spec: UpstreamConfig, context: UpstreamContext): Upstream {
  const problem = 'it is not started for a plan of a text, so nobody knows its tools'
  return {
    ...standIn(spec, context, []),
    problem,
    dispatch: () => Promise.resolve({ error: rpcError(RPC.internal, problem) }),
  }
}

function hiddenIn(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map(one => hiddenIn(one, hide))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [hide(key), hiddenIn(one, hide)]))
}
