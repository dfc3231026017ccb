import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { UpstreamConfig, UpstreamContext } from '../api/index.ts'
import type { TlsConfig } from '../config/config.gen.ts'
import { gatewayError, getErrorMessage } from '../errors/errors.ts'
import type { TlsMaterial } from '../http-client/undici-client.ts'

type TlsOrigin = Pick<UpstreamContext, 'name' | 'directory'>

/** The texts of the files of an upstream's `tls`. @throws GatewayError when one cannot be read. */
export function readTlsFiles({ ca, cert, key, passphrase }: TlsConfig, place: TlsOrigin): TlsMaterial {
  return {
    ca: readTlsFile(ca, place),
    cert: readTlsFile(cert, place),
    key: readTlsFile(key, place),
    passphrase,
  }
}

/** The present contents of the files of an upstream's `tls`, as one text; another one is a reason to connect anew. */
export function fingerprintTls(spec: UpstreamConfig, place: TlsOrigin): string {
  if (!('tls' in spec) || spec.tls === undefined) return ''
  try {
    return JSON.stringify(readTlsFiles(spec.tls, place))
  } catch (error) {
    return getErrorMessage(error)
  }
}

function readTlsFile(file: string | undefined, { name, directory }: TlsOrigin): string | undefined {
  if (file === undefined) return undefined
  try {
    return readFileSync(resolve(directory, file), 'utf8')
  } catch (error) {
    const why = `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? getErrorMessage(error)})`
    throw gatewayError('GW_UPSTREAM_START', { upstream: name, why, cause: error })
  }
}
