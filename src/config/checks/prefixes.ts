import { mapAt, textAt, valueAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import type { Report } from '../problem.ts'

interface Prefixed {
  readonly name: string
  readonly prefix: string
  /** Where to point: the prefix if it is written down, else the upstream. */
  readonly pointer: string
}

/** Two upstreams must not give their tools the same names. */
export function checkPrefixes(config: unknown, report: Report): void {
  const all = prefixesOf(config)
  all.forEach((one, i) => {
    for (const other of all.slice(0, i)) compare(one, other, report)
  })
}

function prefixesOf(config: unknown): Prefixed[] {
  const upstreams = mapAt(config, 'upstreams')
  const enabled = Object.keys(upstreams).filter(name => valueAt(upstreams, name, 'enabled') !== false)
  return enabled.map(name => {
    const written = textAt(upstreams, name, 'prefix')
    const at = pointerTo('/upstreams', name)
    return { name, prefix: written ?? `${name}__`, pointer: written === undefined ? at : `${at}/prefix` }
  })
}

function compare(one: Prefixed, other: Prefixed, report: Report): void {
  const { pointer, prefix } = one
  if (prefix === '' && other.prefix === '') {
    const message = `no prefix here and none for "${other.name}": where names collide, "${other.name}" wins`
    report({ pointer, message, hint: 'give one of them a prefix', severity: 'warning' })
  } else if (prefix === other.prefix) {
    report({
      pointer,
      message: `prefix "${prefix}" already belongs to upstream "${other.name}"`,
      hint: 'give one of them another prefix',
    })
  } else if (
    prefix !== '' &&
    other.prefix !== '' &&
    (prefix.startsWith(other.prefix) || other.prefix.startsWith(prefix))
  ) {
    const message = `prefixes "${prefix}" and "${other.prefix}" (upstream "${other.name}") begin alike, so names may collide`
    report({ pointer, message, hint: 'make them differ earlier', severity: 'warning' })
  }
}
