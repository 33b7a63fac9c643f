// Verify a DSSE envelope with @sigstore/verify and a public key: verify_envelope.js ENVELOPE KEY.PEM.
const fs = require('fs');
const crypto = require('crypto');
const { bundleFromJSON } = require('@sigstore/bundle');
const { Verifier, toSignedEntity, toTrustMaterial } = require('@sigstore/verify');

const envelope = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const publicKey = crypto.createPublicKey(fs.readFileSync(process.argv[3]));
const bundle = bundleFromJSON({
  mediaType: 'application/vnd.dev.sigstore.bundle.v0.3+json',
  verificationMaterial: { publicKey: { hint: envelope.signatures[0].keyid }, tlogEntries: [] },
  dsseEnvelope: envelope,
});
const noRoot = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [] };
const trust = toTrustMaterial(noRoot, () => ({ publicKey, validFor: () => true }));
try {
  new Verifier(trust, { tlogThreshold: 0, ctlogThreshold: 0, tsaThreshold: 0 }).verify(toSignedEntity(bundle));
  console.log('accepted');
} catch (error) {
  console.log(`rejected: ${error.message}`);
  process.exit(1);
}
