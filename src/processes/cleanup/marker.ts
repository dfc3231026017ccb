import { createHash, randomBytes } from 'node:crypto'
import { readlinkSync } from 'node:fs'
import { startOf } from './proc-scan.ts'

/** Says to which gateway a process belongs. */
interface Mark {
  readonly place: string
  /** The gateway that started it. */
  readonly owner: { readonly pid: number; readonly start: string }
  readonly upstream: string
}

/** Makes the marks of the processes of one graph. */
export class Marks {
  /** Beginning of the marks of this graph, and of no others. */
  readonly run: string
  #count = 0

  constructor() {
    this.run = `tapgate:${process.pid}:${startOf(process.pid) ?? '0'}:${randomBytes(16).toString('hex')}:`
  }

  /** A mark that no other process has. */
  next(directory: string, upstream: string): string {
    return `${this.run}${placeOf(directory)}:${++this.#count}:${upstream}`
  }
}

const FORM = /^tapgate:(\d+):(\d+):[0-9a-f]{32}:([0-9a-f]{12}):\d+:([a-z0-9-]{1,64})$/

/** Reads a mark; undefined for what is none. */
export function readMark(text: string): Mark | undefined {
  const [, pid, start, place, upstream] = FORM.exec(text) ?? []
  if (pid === undefined || start === undefined || place === undefined || upstream === undefined)
    return undefined
  return { place, owner: { pid: Number(pid), start }, upstream }
}

/** Names a directory of this user, where process ids mean the same. A container's processes have another place. */
export function placeOf(directory: string): string {
  const who = `${process.getuid?.() ?? ''}\0${namespace()}\0${directory}`
  return createHash('sha256').update(who).digest('hex').slice(0, 12)
}

function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}
