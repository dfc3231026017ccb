import { card, email, iban, phone } from './personal-data-detectors.ts'
import type { Detector, Span } from './find-spans.ts'
import { findMatches } from './find-spans.ts'

/** Key and token formats. Every quantifier is bounded, so that matching takes linear time. */
const KEYS: readonly string[] = [
  '(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}', // AWS
  'gh[pousr]_[A-Za-z0-9]{30,200}', // GitHub
  'github_pat_[A-Za-z0-9_]{22,200}',
  'gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat)-[A-Za-z0-9_-]{20,200}', // GitLab
  'xox[abeoprs]-[A-Za-z0-9-]{10,200}', // Slack
  'xapp-\\d-[A-Za-z0-9-]{10,200}',
  'hooks\\.slack\\.com/services/[A-Za-z0-9/]{20,100}',
  '[srp]k_(?:live|test)_[A-Za-z0-9]{16,200}', // Stripe
  'whsec_[A-Za-z0-9+/=]{24,100}',
  'AIza[A-Za-z0-9_-]{35}', // Google
  'ya29\\.[A-Za-z0-9_-]{20,200}',
  'GOCSPX-[A-Za-z0-9_-]{28}',
  'sk-[A-Za-z0-9_-]{20,200}', // OpenAI, Anthropic and others
  'xai-[A-Za-z0-9]{40,200}',
  'gsk_[A-Za-z0-9]{40,100}',
  'pplx-[A-Za-z0-9]{40,100}',
  'npm_[A-Za-z0-9]{36}',
  'pypi-[A-Za-z0-9_-]{50,200}',
  'dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,100}', // Docker
  'SG\\.[A-Za-z0-9_-]{16,64}\\.[A-Za-z0-9_-]{16,100}', // SendGrid
  '(?:AC|SK)[0-9a-f]{32}', // Twilio
  'key-[0-9a-f]{32}', // Mailgun
  '[0-9a-f]{32}-us\\d{1,2}', // Mailchimp
  'hf_[A-Za-z0-9]{30,100}', // Hugging Face
  'r8_[A-Za-z0-9]{37,40}', // Replicate
  'do[opr]_v1_[0-9a-f]{64}', // DigitalOcean
  'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}', // Shopify
  'sq0(?:atp|csp)-[A-Za-z0-9_-]{22,43}', // Square
  '\\d{8,10}:AA[A-Za-z0-9_-]{33}', // Telegram
  '[MNO][A-Za-z0-9_-]{23,25}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27,38}', // Discord
  'dapi[0-9a-f]{32}', // Databricks
  'lin_api_[A-Za-z0-9]{40}', // Linear
  'ntn_[A-Za-z0-9]{40,50}', // Notion
  'secret_[A-Za-z0-9]{43}',
  'pat[A-Za-z0-9]{14}\\.[0-9a-f]{64}', // Airtable
  'PMAK-[0-9a-f]{24}-[0-9a-f]{34}', // Postman
  'NRAK-[A-Z0-9]{27}', // New Relic
  'gl(?:sa|c)_[A-Za-z0-9_=+/-]{32,200}', // Grafana
  'dp\\.(?:pt|st|ct|sa)\\.[A-Za-z0-9.]{40,100}', // Doppler
  'hv[sbr]\\.[A-Za-z0-9_-]{24,200}', // Vault
  'AGE-SECRET-KEY-1[A-Z0-9]{58}',
  'ATATT3[A-Za-z0-9_=-]{50,250}', // Atlassian
  'sbp_[0-9a-f]{40}', // Supabase
  'figd_[A-Za-z0-9_-]{40,60}', // Figma
  'tskey-[a-z]{3,10}-[A-Za-z0-9-]{20,100}', // Tailscale
  'sntrys_[A-Za-z0-9_=+/-]{40,250}', // Sentry
  'AccountKey=[A-Za-z0-9+/]{86}==', // Azure
  'aws_secret_access_key["\']?\\s{0,4}[=:]\\s{0,4}["\']?[A-Za-z0-9/+]{40}',
]
const KEY = new RegExp(`(?<![A-Za-z0-9])(?:${KEYS.join('|')})`, 'g')

const REST_OF_TOKEN = /[A-Za-z0-9_-]*/y

const JWT = /(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}/g
const BEARER = /(?<![A-Za-z])[Bb]earer\s{1,4}[A-Za-z0-9._~+/-]{20,}=*/g

const BEGIN = '-----BEGIN '
const END = '-----END '
const DASHES = '-----'
const MAX_LABEL_LENGTH = 60

/** Visible prefix length, which identifies the issuer. */
const VISIBLE_KEY_LENGTH = 4

/** Service keys, by format. */
export const apiKey: Detector = {
  name: 'api-key',
  findSpans(text) {
    const spans: Span[] = []
    for (const { from, to } of findMatches(text, KEY, 'api-key')) {
      // The previous match already includes this one.
      if (from < (spans.at(-1)?.to ?? 0)) continue
      spans.push({ from, to: findTokenEnd(text, to), detector: 'api-key' })
    }
    return spans
  },
  mask: maskKey,
}

/** JSON Web Tokens and bearer tokens. */
export const token: Detector = {
  name: 'token',
  findSpans: text => [...findMatches(text, JWT, 'token'), ...findMatches(text, BEARER, 'token')],
  mask: maskKey,
}

/** PEM private keys, up to the end marker or the end of text. */
export const privateKey: Detector = {
  name: 'private-key',
  findSpans(text) {
    const spans: Span[] = []
    for (let from = text.indexOf(BEGIN); from >= 0;) {
      const label = text.slice(from, from + MAX_LABEL_LENGTH)
      if (!/^-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----/.test(label)) {
        from = text.indexOf(BEGIN, from + 1)
        continue
      }
      const end = text.indexOf(END, from)
      const close = end < 0 ? -1 : text.indexOf(DASHES, end + END.length)
      const to = close < 0 ? text.length : close + DASHES.length
      spans.push({ from, to, detector: 'private-key' })
      from = text.indexOf(BEGIN, to)
    }
    return spans
  },
  mask: () => '-----PRIVATE KEY-----',
}

const AUTHORITY = /[^\s/?#"'<>\\]{1,300}/y

/** Passwords in URLs. */
export const urlPassword: Detector = {
  name: 'url-password',
  findSpans(text) {
    const spans: Span[] = []
    for (let at = text.indexOf('://'); at >= 0; at = text.indexOf('://', at + 3)) {
      AUTHORITY.lastIndex = at + 3
      const authority = AUTHORITY.exec(text)?.[0] ?? ''
      const [user, host] = [authority.indexOf(':'), authority.lastIndexOf('@')]
      if (user >= 0 && host > user + 1) spans.push({ from: at + 4 + user, to: at + 3 + host, detector: 'url-password' })
    }
    return spans
  },
  mask: () => '****',
}

/** Extends a match to the whole token, so that no tail remains. */
function findTokenEnd(text: string, from: number): number {
  REST_OF_TOKEN.lastIndex = from
  REST_OF_TOKEN.test(text)
  return REST_OF_TOKEN.lastIndex
}

function maskKey(value: string): string {
  return `${value.slice(0, VISIBLE_KEY_LENGTH)}****`
}

const BUILT_IN_DETECTORS: readonly Detector[] = [privateKey, apiKey, token, urlPassword, email, iban, card, phone]

/** Detector groups. */
const DETECTOR_GROUPS: Readonly<Record<string, readonly string[]>> = {
  secrets: ['private-key', 'api-key', 'token', 'url-password'],
  personal: ['email', 'iban', 'card', 'phone'],
}

/** Detector and group names that rules may use. */
export const DETECTOR_NAMES: readonly string[] = [
  ...BUILT_IN_DETECTORS.map(({ name }) => name),
  ...Object.keys(DETECTOR_GROUPS),
]

/** Returns the detectors with these names, without duplicates; built-in ones first. */
export function selectDetectors(names: readonly string[], own: ReadonlyMap<string, Detector>): Detector[] {
  const requestedNames = new Set(names.flatMap(name => DETECTOR_GROUPS[name] ?? [name]))
  return [
    ...BUILT_IN_DETECTORS.filter(({ name }) => requestedNames.has(name)),
    ...[...requestedNames].flatMap(name => own.get(name) ?? []),
  ]
}

/**
 * Compiles a custom expression with RE2, which matches in linear time.
 * @throws Error for an invalid expression
 */
export async function compileExpression(name: string, source: string): Promise<Detector> {
  const { RE2JS } = await import('re2js')
  const pattern = RE2JS.compile(source)
  return {
    name,
    checksNumbers: true,
    findSpans(text) {
      const matcher = pattern.matcher(text)
      const spans = []
      while (matcher.find()) {
        const [from, to] = [matcher.start(), matcher.end()]
        if (to > from) spans.push({ from, to, detector: name })
      }
      return spans
    },
    mask: () => '****',
  }
}
