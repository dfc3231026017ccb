/** Where the time went: `profile.ts <file.cpuprofile> [rows] [seconds to skip]` prints the functions with most time. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

const WAITING = new Set(['(idle)', '(root)'])
const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The functions of a profile with their share of the time that was not waited. */
function sharesOf({ nodes, samples, timeDeltas }: Profile, skipMicros: number): readonly (readonly [string, number])[] {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  const micros = new Map<string, number>()
  let all = 0
  let clock = 0
  samples.forEach((id, index) => {
    const name = names.get(id) ?? '?'
    const spent = timeDeltas[index] ?? 0
    clock += spent
    if (WAITING.has(name) || clock < skipMicros) return
    all += spent
    micros.set(name, (micros.get(name) ?? 0) + spent)
  })
  return [...micros].sort(([, a], [, b]) => b - a).map(([name, spent]) => [name, spent / all] as const)
}

function nameOf({ functionName, url, lineNumber }: Profile['nodes'][number]['callFrame']): string {
  if (url === '') return functionName === '' ? '(anonymous)' : functionName
  const file = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : url
  return `${functionName === '' ? '(anonymous)' : functionName}  ${file.replace(/^.*node_modules\//, '')}:${lineNumber + 1}`
}

const [file = '', rows = '40', skip = '0'] = process.argv.slice(2)
const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile
for (const [name, share] of sharesOf(profile, Number(skip) * 1e6).slice(0, Number(rows))) {
  console.log(`${(share * 100).toFixed(1).padStart(5)} %  ${name}`)
}
