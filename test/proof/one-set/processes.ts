import { readFile, readdir } from 'node:fs/promises'

/** Memory of processes in MiB: the part that is theirs alone, with their share of the rest (PSS), and all of it (RSS). */
export interface Memory {
  readonly count: number
  readonly pss: number
  readonly rss: number
}

const KIB = 1024

export async function memoryOf(pids: readonly number[]): Promise<Memory> {
  const all = await Promise.all(pids.map(rollup))
  const sum = (key: 'pss' | 'rss'): number => all.reduce((total, one) => total + one[key], 0) / KIB
  return { count: pids.length, pss: sum('pss'), rss: sum('rss') }
}

async function rollup(pid: number): Promise<{ pss: number; rss: number }> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '')
  const kib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? 0)
  return { pss: kib('Pss'), rss: kib('Rss') }
}

/** All below a process, without it. */
export async function below(pid: number): Promise<number[]> {
  const parents = new Map<number, number>()
  for (const name of (await readdir('/proc')).filter(one => /^\d+$/.test(one))) {
    const text = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')
    const parent = Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1])
    if (Number.isInteger(parent)) parents.set(Number(name), parent)
  }
  const isBelow = (one: number): boolean => {
    for (let at = parents.get(one); at !== undefined && at > 0; at = parents.get(at)) if (at === pid) return true
    return false
  }
  return [...parents.keys()].filter(isBelow)
}
