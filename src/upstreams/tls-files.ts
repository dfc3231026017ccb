import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { UpstreamConfig, UpstreamContext } from '../api/index.ts'
import type { TlsConfig } from '../config/config.gen.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { TlsMaterial } from '../net/undici-client.ts'

type TlsOrigin = Pick<UpstreamContext, 'name' | 'directory'>

/** Reads the files from an upstream's `tls` key. @throws GatewayError if one is unreadable. */
export function readTlsFiles({ ca, cert, key, passphrase }: TlsConfig, origin: TlsOrigin): TlsMaterial {
  return {
    ca: readTlsFile(ca, origin),
    cert: readTlsFile(cert, origin),
    key: readTlsFile(key, origin),
    passphrase,
  }
}

/** Returns the current contents of an upstream's `tls` files as one text; a change requires a reconnection. */
export function fingerprintTls(spec: UpstreamConfig, origin: TlsOrigin): string {
  if (!('tls' in spec) || spec.tls === undefined) return ''
  try {
    return JSON.stringify(readTlsFiles(spec.tls, origin))
  } catch (error) {
    return getErrorMessage(error)
  }
}

function readTlsFile(file: string | undefined, { name, directory }: TlsOrigin): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(resolve(directory, file), 'utf8')
  } catch (error) {
    const why = `reading ${file} failed (${(error as NodeJS.ErrnoException).code ?? getErrorMessage(error)})`
    throw gatewayError('GW_UPSTREAM_START', { upstream: name, why, cause: error })
  }
}
