import { setTimeout as passed } from 'node:timers/promises'
import type { Serving } from '../cli/run.ts'

/** The page that `gateway login` prints; undefined where it ends without one. */
export async function pageOf({
  stderr,
  exit,
}: Pick<Serving, 'stderr' | 'exit'>): Promise<string | undefined> {
  for (;;) {
    const [page] = /https?:\/\/127\.0\.0\.1:\d+\/authorize\S*/.exec(stderr()) ?? []
    if (page !== undefined) return page
    if ((await Promise.race([exit, passed(20, 'runs')])) !== 'runs') return undefined
  }
}
