import type { TraceContext } from './context.ts'

/** Names of samplers, as `OTEL_TRACES_SAMPLER` has them. */
export const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export type SamplerName = (typeof SAMPLERS)[number]

/** Decides whether a trace is recorded; `parent` is the caller's context. */
export type Sampler = (traceId: string, parent: TraceContext | undefined) => boolean

const PARENT_BASED = 'parentbased_'
/** Digits of a trace id that are compared: 52 bits fit a double. */
const DIGITS = 13

/** Makes the sampler of this name. The same trace has the same verdict wherever the same ratio is asked. */
export function samplerOf(name: SamplerName, ratio: number): Sampler {
  const isParentBased = name.startsWith(PARENT_BASED)
  const root = rootOf(isParentBased ? name.slice(PARENT_BASED.length) : name, ratio)
  return isParentBased
    ? (traceId, parent) => (parent === undefined ? root(traceId) : parent.isSampled)
    : traceId => root(traceId)
}

function rootOf(name: string, ratio: number): (traceId: string) => boolean {
  if (name === 'always_off' || (name === 'traceidratio' && ratio <= 0)) return () => false
  if (name === 'always_on' || ratio >= 1) return () => true
  const bound = ratio * 16 ** DIGITS
  return traceId => Number.parseInt(traceId.slice(-DIGITS), 16) < bound
}
