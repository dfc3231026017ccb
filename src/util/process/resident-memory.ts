import { readdir } from 'node:fs/promises'
import { getPlatform } from '../platform.ts'
import { readProcFile } from './proc-files.ts'

/** Maximum processes per tree. */
const MAX_TREE = 4096

/**
 * Measures the resident memory in bytes of each process with its descendants. Linux only: on other systems, and for
 * exited processes, there is no entry.
 */
export async function measureTrees(pids: readonly number[]): Promise<Map<number, number>> {
  const sizes = new Map<number, number>()
  if (pids.length === 0 || !getPlatform().hasProc) return sizes
  const children = await readChildren()
  await Promise.all(
    pids.map(async pid => {
      const parts = await Promise.all(listTree(pid, children).map(readResidentBytes))
      const measured = parts.filter(part => part !== undefined)
      if (measured.length > 0)
        sizes.set(
          pid,
          measured.reduce((sum, part) => sum + part, 0),
        )
    }),
  )
  return sizes
}

async function readChildren(): Promise<Map<number, number[]>> {
  const names = await readdir('/proc').catch(() => [])
  const children = new Map<number, number[]>()
  const processes = names.filter(name => /^\d+$/.test(name)).map(Number)
  await Promise.all(
    processes.map(async pid => {
      const parent = await readParent(pid)
      if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid])
    }),
  )
  return children
}

/** Process names may contain brackets, so parse after the last one. */
async function readParent(pid: number): Promise<number | undefined> {
  const text = await readProcFile(`/proc/${pid}/stat`)
  const parent = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
  return Number.isInteger(parent) ? parent : undefined
}

function listTree(root: number, children: ReadonlyMap<number, readonly number[]>): number[] {
  const tree = [root]
  for (let at = 0; at < tree.length && tree.length < MAX_TREE; at++) tree.push(...(children.get(tree[at] ?? 0) ?? []))
  return tree
}

async function readResidentBytes(pid: number): Promise<number | undefined> {
  const text = await readProcFile(`/proc/${pid}/status`)
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(text)?.[1]
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024
}
