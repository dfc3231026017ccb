import { mapAt, pointerTo, textAt, type Report } from '../../src/plugin.ts'

/** Documents that could not be read, whatever is there, and headers that would name who calls twice. */
export function check(config: unknown, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const spec = mapAt(upstreams, name)
    if (spec.type !== 'openapi') continue
    const at = pointerTo('/upstreams', name)
    const document = textAt(spec, 'document') ?? ''
    const [scheme] = /^[a-z][a-z0-9+.-]*:\/\//i.exec(document) ?? []
    if (scheme !== undefined && !/^https?:/i.test(scheme))
      report({
        pointer: `${at}/document`,
        message: `"${scheme}" is not read`,
        hint: 'give the path of a file, or an http or https URL',
      })
  }
}
