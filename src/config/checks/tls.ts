import type { KeyObject, X509Certificate } from 'node:crypto'
import { createPrivateKey } from 'node:crypto'
import { readMap, readText, readValue } from '../../util/plain-data.ts'
import type { Report } from '../../util/finding.ts'
import { checkKeyPair, appendPointer } from '../../util/finding.ts'
import type { Config } from '../config.gen.ts'

/** Reads a file relative to the configuration. */
type ReadFile = (path: string) => Buffer

const RELATIVE = 'correct the path; it is relative to the configuration file'
const PEM = 'use a PEM file, which starts with -----BEGIN'

/** Reports missing, invalid or mismatched certificates and keys, and TLS settings on plain URLs. */
export function checkTls(config: unknown, readFile: ReadFile, report: Report): void {
  const upstreams = readMap(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    const spec = readMap(upstreams, name)
    const at = appendPointer('/upstreams', name)
    if (/^(http|ws):/i.test(readText(spec, 'url') ?? '')) checkPlain(spec, at, report)
    if (spec.tls === undefined || spec.enabled === false) continue
    const files = new TlsFiles(readFile, `${at}/tls`, report)
    checkFiles(readMap(spec, 'tls'), files)
    // The schema requires both for listeners.
    checkKeyPair(readMap(spec, 'tls'), `${at}/tls`, finding => report({ ...finding, severity: 'error' }))
  }
  const listeners = readMap(config, 'listeners')
  for (const name of Object.keys(listeners)) {
    const tls = readValue(listeners, name, 'tls')
    if (tls === undefined) continue
    checkFiles(readMap(tls), new TlsFiles(readFile, `${appendPointer('/listeners', name)}/tls`, report))
  }
}

/** Lists the files in every `tls` section. */
export function listTlsFiles({ upstreams, listeners }: Pick<Config, 'upstreams' | 'listeners'>): string[] {
  const all = [...Object.values(upstreams), ...Object.values(listeners)]
  return all.flatMap(spec =>
    'tls' in spec && spec.tls !== undefined
      ? FILE_KEYS.map(key => readText(spec.tls, key)).filter(file => file !== undefined)
      : [],
  )
}

const FILE_KEYS = ['ca', 'clientCa', 'cert', 'key'] as const

function checkPlain(spec: Readonly<Record<string, unknown>>, at: string, report: Report): void {
  for (const key of ['tls', 'http2'])
    if (spec[key] !== undefined && spec[key] !== false)
      report({
        pointer: `${at}/${key}`,
        message: `"${key}" needs TLS, but the URL of this server is not encrypted`,
        hint: `use https:// or wss://, or remove "${key}"`,
        on: 'key',
      })
}

function checkFiles(tls: Readonly<Record<string, unknown>>, files: TlsFiles): void {
  for (const name of ['ca', 'clientCa']) files.certificate(readText(tls, name), name)
  const certificate = files.certificate(readText(tls, 'cert'), 'cert')
  const key = files.key(readText(tls, 'key'), readText(tls, 'passphrase'))
  if (certificate === undefined || key === undefined) return
  if (!certificate.checkPrivateKey(key))
    files.refuse(
      'key',
      `does not match the certificate in ${readText(tls, 'cert') ?? ''}`,
      'use a matching certificate and key',
    )
  if (Date.parse(certificate.validTo) < Date.now())
    files.refuse('cert', `expired on ${certificate.validTo}`, 'renew it', 'warning')
}

/** Files in one `tls` section. */
class TlsFiles {
  readonly #read: ReadFile
  readonly #at: string
  readonly #report: Report

  constructor(read: ReadFile, at: string, report: Report) {
    this.#read = read
    this.#at = at
    this.#report = report
  }

  certificate(path: string | undefined, name: string): X509Certificate | undefined {
    const bytes = path === undefined ? undefined : this.#bytes(path, name)
    if (bytes === undefined) return undefined
    const { X509Certificate } = process.getBuiltinModule('node:crypto')
    try {
      return new X509Certificate(bytes)
    } catch {
      this.refuse(name, `${path ?? ''} contains no certificate`, PEM)
      return undefined
    }
  }

  key(path: string | undefined, passphrase: string | undefined): KeyObject | undefined {
    const bytes = path === undefined ? undefined : this.#bytes(path, 'key')
    if (bytes === undefined) return undefined
    try {
      return createPrivateKey({ key: bytes, ...(passphrase === undefined ? {} : { passphrase }) })
    } catch (error) {
      this.#refuseKey(path ?? '', passphrase, (error as NodeJS.ErrnoException).code ?? '')
      return undefined
    }
  }

  refuse(name: string, message: string, hint: string, severity: 'error' | 'warning' = 'error'): void {
    this.#report({ pointer: `${this.#at}/${name}`, message, hint, severity })
  }

  #refuseKey(path: string, passphrase: string | undefined, code: string): void {
    if (/PASSPHRASE|INTERRUPTED/.test(code))
      this.refuse('key', `${path} is encrypted`, 'add "passphrase", or decrypt the file')
    else if (passphrase !== undefined && /BAD_DECRYPT|UNSUPPORTED/.test(code))
      this.refuse('passphrase', `wrong passphrase for ${path}`, 'correct it')
    else this.refuse('key', `${path} contains no private key`, PEM)
  }

  #bytes(path: string, name: string): Buffer | undefined {
    try {
      return this.#read(path)
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? String(error)
      this.refuse(name, `cannot read ${path} (${code})`, RELATIVE)
      return undefined
    }
  }
}
