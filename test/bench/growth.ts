/** Measures how the cost of a call grows with what a gateway has: one gateway for each point. */
import { groups } from './setup/gateways.ts'
import type { Subject, Workshop } from './setup/workshop.ts'

export type Growth = 'tools' | 'upstreams' | 'sessions' | 'own plugins'

/** The points of each plot, and what they count. */
export const POINTS: Readonly<Record<Growth, readonly number[]>> = {
  tools: [10, 100, 1000, 5000],
  upstreams: [1, 5, 20, 50],
  sessions: [1, 100, 500, 1000],
  'own plugins': [0, 4, 8, 16, 32],
}

export function isGrowth(wiring: string): wiring is Growth {
  return Object.hasOwn(POINTS, wiring)
}

/** One gateway for each point, labelled with its number. */
export async function growing(growth: Growth, workshop: Workshop): Promise<readonly Subject[]> {
  const subjects: Subject[] = []
  // One after the other: fifty upstreams at once are enough.
  for (const point of POINTS[growth]) subjects.push(await pointOf(growth, point, workshop))
  return subjects
}

async function pointOf(growth: Growth, point: number, workshop: Workshop): Promise<Subject> {
  const url = await workshop.serverUrl()
  const count = (what: Growth, otherwise: number): number => (growth === what ? point : otherwise)
  const upstreams = groups(url, count('upstreams', 1), count('tools', 10))
  const own = growth === 'own plugins' ? point : undefined
  const plugins = own === undefined ? 'all' : 'none'
  const spec = { listener: 'http', upstreams, plugins, ...(own === undefined ? {} : { own }) } as const
  const subject = await workshop.gateway(spec, String(point))
  // The load client opens one more to call with.
  const held = count('sessions', 1) - 1
  if (held > 0 && 'url' in subject.target)
    await workshop.options.load.hold({ url: subject.target.url, sessions: held, hasStreams: true })
  return subject
}
