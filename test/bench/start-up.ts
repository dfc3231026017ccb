import { setTimeout as pause } from 'node:timers/promises'
import type { ChildProcess } from 'node:child_process'
import { stdioUpstream, stdioUpstreams, type Configs } from './setup/gateways.ts'
import { rivalStarts } from './rivals/starts.ts'
import type { Rivals } from './rivals.ts'
import { median } from './statistics.ts'
import { ended, toEnd, toList } from './output/to-list.ts'

/** The time that one command takes from its start to its end, or to its first answer. */
export interface StartResult {
  readonly key: string
  readonly title: string
  readonly median: number
  readonly best: number
}

/** Something that is started again and again. */
export interface Start {
  readonly key: string
  readonly title: string
  /** Slow ones are started a third as often. */
  readonly isSlow?: boolean
  /** The first start is for what it leaves to the others. */
  readonly leaves?: boolean
  /** Resolves at the moment that counts; what it resolves with has still to be ended. */
  run(): Promise<ChildProcess>
}

/** A gateway writes down what it knows a moment after it has learnt it. */
const SAVED_MS = 1500

interface Bench {
  readonly launcher: string
  readonly configs: Configs
  /** Number of stdio servers a cold start has: each of these. */
  readonly cold: readonly number[]
  readonly rivals: Rivals | undefined
}

/** Measures each start-up `times` times, in turns; one that fails is said and left out. */
export async function measureStarts(
  { launcher, configs, cold, rivals }: Bench,
  times: number,
  say: (text: string) => void,
): Promise<readonly StartResult[]> {
  const starts = [...ownStarts(launcher, configs, cold), ...(rivals === undefined ? [] : rivalStarts(rivals))]
  const took = new Map<Start, number[]>(starts.map(start => [start, []]))
  // The first turn fills caches of the disk and of compiled code.
  for (let turn = 0; turn <= times; turn++) {
    for (const [start, all] of [...took]) {
      if (start.isSlow === true && turn > Math.ceil(times / 3)) continue
      say(`start-up, turn ${turn} of ${times}: ${start.title}`)
      try {
        const ms = await timed(start, turn === 0)
        if (turn > 0) all.push(ms)
      } catch (error) {
        // A start that failed is in none of the following turns.
        took.delete(start)
        console.error(`${start.title}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
  return [...took].map(([{ key, title }, all]) => ({
    key,
    title,
    median: median(all),
    best: Math.min(...all),
  }))
}

async function timed({ run, leaves }: Start, isFirst: boolean): Promise<number> {
  const from = performance.now()
  const child = await run()
  const ms = performance.now() - from
  if (isFirst && leaves === true) await pause(SAVED_MS)
  await ended(child)
  return ms
}

function ownStarts(launcher: string, configs: Configs, cold: readonly number[]): readonly Start[] {
  const upstreams = { up: stdioUpstream() }
  const onHttp = configs.write({ listener: 'http', upstreams, plugins: 'all' })
  const validate = [launcher, 'validate', '--config', onHttp]
  return [
    { key: 'node', title: 'node -e 0', run: () => toEnd(['-e', '0']) },
    { key: 'version', title: 'gateway --version', run: () => toEnd([launcher, '--version']) },
    { key: 'validate', title: 'gateway validate', run: () => toEnd(validate) },
    ...cold.map(count => savedStart(count, launcher, configs)),
  ]
}

function savedStart(count: number, launcher: string, configs: Configs): Start {
  const config = configs.write({ listener: 'stdio', upstreams: stdioUpstreams(count), plugins: 'all' })
  return {
    key: `cold-saved-${count}`,
    title: `gateway serve on stdio, ${count} stdio server${count === 1 ? '' : 's'}, saved catalogue, to its list`,
    leaves: true,
    run: () => toList([launcher, 'serve', '--config', config], `s${count - 1}__small`),
  }
}
