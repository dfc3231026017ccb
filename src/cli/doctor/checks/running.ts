import type { Inspection } from '../../../api/gateway.ts'
import { connectControl } from '../../../control/client.ts'
import { livingSockets } from '../../../control/sockets.ts'
import { reasonOf } from '../../../errors/errors.ts'
import type { Health } from '../../../errors/health.ts'
import { ownPackage } from '../../../util/version.ts'
import { withAsked, type AskedGateway } from '../../local/ask-gateway.ts'
import { listAllTools } from '../../local/tools.ts'
import { complaint, type Complaint, type Patient } from '../table.ts'

/** Tools that some clients show at most. */
const MOST_TOOLS = 128
const MOST_TOKENS = 25_000
const CHARACTERS_PER_TOKEN = 4
const MOST_NAMES = 5

/** Findings about the gateway that runs, and whether one does. */
export async function runningFindings(
  patient: Patient,
): Promise<{ readonly found: Complaint[]; readonly isRunning: boolean }> {
  const { file: config, flags, terminal } = patient
  if (config === undefined) return { found: [], isRunning: false }
  const { environment } = terminal
  const place = { file: config, env: flags.env ?? environment['GATEWAY_ENV'], environment }
  const sockets = flags.socket === undefined ? await livingSockets(place).catch(() => []) : [flags.socket]
  if (sockets.length === 0) return { found: [complaint('not-running', { config })], isRunning: false }
  const found = await Promise.all(sockets.map(askedOf))
  const many = sockets.length > 1 ? [complaint('gateways-many', { count: sockets.length, config })] : []
  return { found: [...many, ...found.flat()], isRunning: true }
}

async function askedOf(socket: string): Promise<Complaint[]> {
  try {
    const client = await connectControl(socket)
    const { version: own } = ownPackage()
    const { version: theirs } = client.about
    const different = theirs === own ? [] : [complaint('version-differs', { theirs, own })]
    const { findings } = (await client.request('health')) as unknown as Health
    return [...different, ...findings]
  } catch (error) {
    return [complaint('gateway-silent', { why: reasonOf(error) })]
  }
}

/** Findings of servers that are asked for what they offer: of the gateway that runs, else of one for this alone. */
export async function onlineFindings({ flags, source, terminal }: Patient): Promise<Complaint[]> {
  if (source === undefined) return []
  return withAsked(flags, terminal, async asked => {
    const tools = await listAllTools(asked)
    const { findings } = (await asked.control('health', {})) as unknown as Health
    return [...findings, ...catalogFindings(await asked.inspect()), ...sizeFindings(tools)]
  })
}

type Inspected = Awaited<ReturnType<AskedGateway['inspect']>>

function catalogFindings({ withheld, unmatched }: Inspected): Complaint[] {
  const doubtful = unmatched.map(({ pointer, message, hint = '' }) =>
    complaint('config-doubtful', { place: pointer, why: message, hint: hint || 'gateway validate' }),
  )
  return [...hiddenNames(withheld), ...doubtful]
}

function hiddenNames(withheld: Inspection['withheld']): Complaint[] {
  const owners = [...new Set(withheld.map(({ upstream }) => upstream))]
  return owners.map(upstream => {
    const names = withheld.filter(row => row.upstream === upstream).map(({ name }) => name)
    const shown = names.slice(0, MOST_NAMES).join(', ')
    return complaint('names-withheld', { upstream, count: names.length, names: shown })
  })
}

function sizeFindings(tools: readonly object[]): Complaint[] {
  const tokens = Math.ceil(JSON.stringify(tools).length / CHARACTERS_PER_TOKEN)
  return [
    ...(tools.length > MOST_TOOLS
      ? [complaint('tools-many', { count: tools.length, limit: MOST_TOOLS })]
      : []),
    ...(tokens > MOST_TOKENS ? [complaint('tools-heavy', { tokens })] : []),
  ]
}
