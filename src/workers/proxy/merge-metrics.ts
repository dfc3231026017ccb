import type { Config } from '../../config/index.ts'
import type { Gate, HttpReply, HttpRequest } from '../../api/index.ts'
import { ANONYMOUS } from '../../api/principal.ts'
import type { Gather } from './routing-gate.ts'

/** A page as its reader asked for it, and where. */
interface Asked {
  readonly path: string
  readonly method: string
  readonly listener: string
  readonly accept: readonly string[]
}

/** A page of one process. */
export interface Page {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body: string
}

/** The figures of all processes, instead of those of the one that was asked: the primary collects them. */
export function gatherFor(
  config: () => Config | undefined,
  ask: (what: string, value: unknown) => Promise<unknown>,
): Gather {
  return request => {
    const { metrics } = config() ?? {}
    if (metrics === undefined || request.path !== metrics.path) return undefined
    const { path, method, listener } = request
    const asked: Asked = { path, method, listener, accept: request.header('accept') }
    return ask('gather', asked) as Promise<HttpReply>
  }
}

/** What this process answers on a path. */
export async function pageOf(gate: Gate, asked: unknown): Promise<Page> {
  const reply = await gate.serve(requestFor(gate, asked as Asked))
  const { status = 404, headers, body = '' } = reply ?? {}
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : ''
  return headers === undefined ? { status, body: text } : { status, headers, body: text }
}

function requestFor(gate: Gate, { path, method, listener, accept }: Asked): HttpRequest {
  return {
    path,
    method,
    listener,
    endpoint: '',
    remoteAddress: undefined,
    header: name => (name === 'accept' ? accept : []),
    query: new URLSearchParams(),
    caller: ANONYMOUS,
    profile: undefined,
    gate,
    label: undefined,
    passed: {},
    body: () => Promise.resolve(Buffer.alloc(0)),
    onGone: () => undefined,
  }
}

/** All samples of one name. */
interface Family {
  readonly head: string[]
  readonly samples: string[]
}

/** The pages as one; each sample says of which process it is. */
export function joinPages(pages: ReadonlyMap<string, Page>): Page {
  const all = [...pages.values()]
  const [first] = all
  if (first === undefined) return { status: 503, body: '' }
  const bad = all.find(({ status }) => status !== 200)
  if (bad !== undefined) return bad
  const families = new Map<string, Family>()
  for (const [worker, { body }] of pages) addPage(families, body.split('\n'), worker)
  const body = [...families.values()].map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`)
  return { ...first, body: `${body.join('')}${first.body.endsWith(END) ? END : ''}` }
}

const END = '# EOF\n'

function addPage(families: Map<string, Family>, lines: readonly string[], worker: string): void {
  let family: Family = { head: [], samples: [] }
  for (const line of lines) {
    const [, name] = /^# (?:HELP|TYPE|UNIT) (\S+)/.exec(line) ?? []
    if (name !== undefined) {
      family = families.get(name) ?? { head: [], samples: [] }
      families.set(name, family)
      if (!family.head.includes(line)) family.head.push(line)
    } else if (line !== '' && !line.startsWith('#')) family.samples.push(labelled(line, worker))
  }
}

/** A sample with one more label: `name{worker="1",…} value`. */
function labelled(sample: string, worker: string): string {
  const at = sample.search(/[{ ]/)
  const rest = sample.slice(at + 1)
  return sample[at] === '{'
    ? `${sample.slice(0, at)}{worker="${worker}",${rest}`
    : `${sample.slice(0, at)}{worker="${worker}"} ${rest}`
}
