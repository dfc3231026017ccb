/**
 * Shows where the time of a gateway went: `profile.ts <file.cpuprofile> [rows] [seconds to skip]` prints each part's share,
 * and the functions with the most time of their own. `npm run bench -- --profile <directory>` writes such files.
 */
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath } from 'node:url'

interface Frame {
  readonly functionName: string
  readonly url: string
  readonly lineNumber: number
  readonly columnNumber?: number
}

interface Profile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: Frame }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

/** The largest first; together they are 1. */
type Shares = readonly { readonly name: string; readonly share: number }[]

const WAITING: ReadonlySet<string> = new Set(['(idle)', '(root)'])

function print(shares: Shares): void {
  for (const { name, share } of shares) console.log(`${(share * 100).toFixed(1).padStart(5)} %  ${name}`)
}

/** Reads a profile; frames of bundled files are those of their sources, where a source map says so. */
function readProfile(file: string): Profile {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile
  const maps = new Map<string, SourceMap | undefined>()
  const nodes = profile.nodes.map(({ id, callFrame }) => ({ id, callFrame: sourceOf(callFrame, maps) }))
  return { ...profile, nodes }
}

function sourceOf(frame: Frame, maps: Map<string, SourceMap | undefined>): Frame {
  if (!frame.url.startsWith('file:')) return frame
  if (!maps.has(frame.url)) maps.set(frame.url, mapOf(frame.url))
  const entry = maps.get(frame.url)?.findEntry(frame.lineNumber, frame.columnNumber ?? 0)
  if (entry === undefined || !('originalSource' in entry)) return frame
  return { ...frame, url: new URL(entry.originalSource, frame.url).href, lineNumber: entry.originalLine }
}

function mapOf(url: string): SourceMap | undefined {
  const file = `${fileURLToPath(url)}.map`
  return existsSync(file) ? new SourceMap(JSON.parse(readFileSync(file, 'utf8')) as SourceMapPayload) : undefined
}

/** The time that was not waited, divided by the names of frames, from so many seconds after its start on. */
function sharesBy(name: (frame: Frame) => string, profile: Profile, from: number): Shares {
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const micros = new Map<string, number>()
  let all = 0
  let clock = 0
  profile.samples.forEach((id, index) => {
    const frame = frames.get(id)
    const spent = profile.timeDeltas[index] ?? 0
    clock += spent
    if (frame === undefined || WAITING.has(frame.functionName)) return
    if (clock < from * 1e6) return
    all += spent
    micros.set(name(frame), (micros.get(name(frame)) ?? 0) + spent)
  })
  return [...micros].sort(([, a], [, b]) => b - a).map(([key, spent]) => ({ name: key, share: spent / all }))
}

function functionOf({ functionName, url, lineNumber }: Frame): string {
  const name = functionName === '' ? '(anonymous)' : functionName
  return url === '' ? name : `${name}  ${fileOf(url)}:${lineNumber + 1}`
}

function fileOf(url: string): string {
  return url
    .replace(/^.*\/node_modules\//, '')
    .replace(/^.*\/(?:dist\/)?((?:src|plugins)\/)/, '$1')
    .replace(/^file:\/\/.*\//, '')
}

const NODE_PARTS: readonly (readonly [RegExp, string])[] = [
  [/^node:(_?http|internal\/http)/, 'Node: http'],
  [/^node:(internal\/streams|stream|net|internal\/stream_base|child_process)/, 'Node: streams and sockets'],
  [/^node:(buffer|internal\/buffer|string_decoder)/, 'Node: buffers'],
  [/^node:(timers|internal\/timers|internal\/process\/task_queues)/, 'Node: timers and ticks'],
]
const NATIVE_PARTS: readonly (readonly [RegExp, string])[] = [
  [/^\(garbage collector\)$/, 'garbage collector'],
  [/^\(program\)$/, 'native: system calls, libuv, parser'],
  [/^(write|writev|shutdown|sendto)/, 'native: writes to sockets and pipes'],
]

/** Ours by folder, others by package; what has no file is native. */
function partOf({ functionName, url }: Frame): string {
  if (url.startsWith('node:')) return nameIn(NODE_PARTS, url, 'Node: other')
  if (url.includes('/node_modules/')) return `package ${fileOf(url).split('/')[0] ?? ''}`
  if (url.startsWith('file:')) return `ours: ${fileOf(url).split('/').slice(0, -1).join('/') || fileOf(url)}`
  return nameIn(NATIVE_PARTS, functionName, 'native: other')
}

function nameIn(parts: readonly (readonly [RegExp, string])[], text: string, otherwise: string): string {
  return parts.find(([is]) => is.test(text))?.[1] ?? otherwise
}

const [file = '', rows = '40', skip = '0'] = process.argv.slice(2)
const profile = readProfile(file)
print(sharesBy(partOf, profile, Number(skip)))
console.log('')
print(sharesBy(functionOf, profile, Number(skip)).slice(0, Number(rows)))
