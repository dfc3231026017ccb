import type { TextReply } from '../../src/plugin.ts'

const END = '# EOF\n'

/** Samples of one name. */
interface Family {
  readonly head: string[]
  readonly samples: string[]
}

/** Joins the pages of several processes; each sample says of which process it is. */
export function joinPages(pages: ReadonlyMap<string, TextReply>): TextReply {
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
