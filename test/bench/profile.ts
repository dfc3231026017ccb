/**
 * Where the time of a gateway went: `profile.ts <file.cpuprofile> [rows] [seconds to skip]` prints each part's share,
 * and the functions with the most time of their own. `npm run bench -- --profile <directory>` writes such files.
 */
import { readFileSync } from 'node:fs'

interface Frame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
}

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

type Shares = readonly (readonly [name: string, share: number])[]

const WAITING: ReadonlySet<string> = new Set(['(idle)', '(root)'])

/** The time that was not waited, divided among whatever `name` makes of its frames. */
function sharesBy(
  name: (frame: Frame) => string,
  { nodes, samples, timeDeltas }: Profile,
  skipMicros: number,
): Shares {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]))
  const micros = new Map<string, number>()
  let all = 0
  let clock = 0
  samples.forEach((id, index) => {
    const frame = frames.get(id)
    const spent = timeDeltas[index] ?? 0
    clock += spent
    if (frame === undefined || WAITING.has(frame.functionName) || clock < skipMicros) return
    all += spent
    micros.set(name(frame), (micros.get(name(frame)) ?? 0) + spent)
  })
  return [...micros].sort(([, a], [, b]) => b - a).map(([key, spent]) => [key, spent / all] as const)
}

function functionOf({ functionName, url, lineNumber }: Frame): string {
  const name = functionName === '' ? '(anonymous)' : functionName
  return url === '' ? name : `${name}  ${fileOf(url)}:${lineNumber + 1}`
}

function fileOf(url: string): string {
  return url.replace(/^.*\/(?:node_modules|dist)\//, '').replace(/^file:\/\//, '')
}

/** Ours by folder, others by package; what has no file is native: system calls, the collector, the compiler. */
function partOf({ functionName, url }: Frame): string {
  if (url.startsWith('node:')) return /^node:(_?http|internal\/http)/.test(url) ? 'node:http' : 'node: other'
  if (url.includes('/node_modules/')) return `package ${fileOf(url).split('/')[0] ?? ''}`
  if (url.startsWith('file:')) return fileOf(url).split('/').slice(0, -1).join('/')
  return functionName === '(garbage collector)'
    ? 'garbage collector'
    : `native${/^write/.test(functionName) ? ': writes' : ''}`
}

function print(shares: Shares): void {
  for (const [name, share] of shares) console.log(`${(share * 100).toFixed(1).padStart(5)} %  ${name}`)
}

const [file = '', rows = '40', skip = '0'] = process.argv.slice(2)
const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile
print(sharesBy(partOf, profile, Number(skip) * 1e6))
console.log('')
print(sharesBy(functionOf, profile, Number(skip) * 1e6).slice(0, Number(rows)))
