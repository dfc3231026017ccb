import type { Duplex } from 'node:stream'
import { isObject } from '../../protocol/json/json.ts'

const NEWLINE = 0x0a
/** More is no greeting. */
const LONGEST = 16 * 1024
const LABEL = /^[A-Za-z0-9._-]{1,128}$/

/** Facts that a program tells of itself before its first message. */
export interface Hello {
  /** The directory that its client works in. */
  readonly cwd?: string
  readonly profile?: string
  /** Its client's name for the conversation. */
  readonly label?: string
  /** True where its client reads all that comes: then nothing is said of the gateway. */
  readonly quiet?: boolean
}

/**
 * Reads a first line `{"attach": {…}}` where there is one; all else stays in the stream. Resolves with undefined for a
 * program that begins with MCP, and when the stream ends first.
 */
export async function readHello(stream: Duplex): Promise<Hello | undefined> {
  const { read, end } = await firstLine(stream)
  const hello = end === -1 ? undefined : helloIn(read.subarray(0, end))
  const rest = hello === undefined ? read : read.subarray(end + 1)
  if (rest.length > 0 && !stream.destroyed && !stream.readableEnded) stream.unshift(rest)
  return hello
}

/** Reads up to the end of the first line, which is -1 where there is none. */
async function firstLine(stream: Duplex): Promise<{ read: Buffer; end: number }> {
  let read = Buffer.alloc(0)
  for (;;) {
    const chunk = stream.read() as Buffer | null
    if (chunk !== null) read = Buffer.concat([read, chunk])
    const end = read.indexOf(NEWLINE)
    if (end !== -1 || read.length > LONGEST) return { read, end }
    if (chunk === null && (stream.readableEnded || stream.destroyed || !(await isReadable(stream))))
      return { read, end: -1 }
  }
}

/** Resolves with false when nothing more comes. */
function isReadable(stream: Duplex): Promise<boolean> {
  return new Promise(resolve => {
    const say = (there: boolean) => (): void => {
      for (const [event, listener] of listeners) stream.off(event, listener)
      resolve(there)
    }
    const over = say(false)
    const listeners: [string, () => void][] = [
      ['readable', say(true)],
      ['end', over],
      ['close', over],
      ['error', over],
    ]
    for (const [event, listener] of listeners) stream.on(event, listener)
  })
}

function helloIn(line: Buffer): Hello | undefined {
  let value: unknown
  try {
    value = JSON.parse(line.toString('utf8'))
  } catch {
    return undefined
  }
  if (!isObject(value) || !isObject(value.attach)) return undefined
  const { cwd, profile, label, quiet } = value.attach
  return {
    ...(isText(cwd) ? { cwd } : {}),
    ...(isText(profile) ? { profile } : {}),
    ...(typeof label === 'string' && LABEL.test(label) ? { label } : {}),
    ...(quiet === true ? { quiet } : {}),
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
