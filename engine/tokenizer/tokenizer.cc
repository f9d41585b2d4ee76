#include "engine/tokenizer/tokenizer.h"

#include "engine/tokenizer/unicode.h"
#include "runtime/core/utf8.h"

namespace krt::engine {

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_metadata(const Gguf& gguf) {
  if (Status refused = unicode_ready(); !refused.ok()) return refused;
  Result<Vocabulary> vocabulary = Vocabulary::read(gguf);
  if (!vocabulary.ok()) return vocabulary.status();
  std::shared_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary).value()));
  const Vocabulary& v = tokenizer->vocabulary_;
  Result<std::unique_ptr<Encoder>> encoder =
      v.model == TokenizerModel::kBytePair ? make_byte_pair_encoder(gguf, v) : make_sentence_piece_encoder(gguf, v);
  if (!encoder.ok()) return encoder.status();
  tokenizer->encoder_ = std::move(encoder).value();
  if (gguf.find("tokenizer.chat_template") != nullptr) {
    const Result<std::string_view> text = gguf.text("tokenizer.chat_template");
    if (!text.ok()) return text.status();
    tokenizer->chat_ = ChatTemplate::recognised(*text);
  }
  return std::shared_ptr<const Tokenizer>(std::move(tokenizer));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  if (text.size() > kMaxTextBytes)
    return invalid("the text has " + std::to_string(text.size()) + " bytes, more than " +
                   std::to_string(kMaxTextBytes));
  std::vector<TokenId> out;
  if (options.add_special && vocabulary_.add_bos) out.push_back(vocabulary_.special.bos);
  std::string changed;
  if (!is_utf8(text)) text = changed = utf8_repaired(text);
  encode_text(text, options.parse_special, out);
  if (options.add_special && vocabulary_.add_eos) out.push_back(vocabulary_.special.eos);
  return out;
}

void Tokenizer::encode_text(std::string_view text, bool parse_special, std::vector<TokenId>& out) const {
  Merger merger;
  for (std::size_t at = 0; at < text.size();) {
    const AddedTokens::Found found = added_.find(text, at, parse_special);
    if (found.begin > at) encoder_->encode(text.substr(at, found.begin - at), merger, out);
    if (found.id != kNoToken) out.push_back(found.id);
    at = found.begin + found.length;
  }
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  StreamDecoder decoder(*this, options);
  std::string out;
  for (const TokenId id : ids) {
    if (!contains(id))
      return invalid("token " + std::to_string(id) + " is outside the vocabulary of " + std::to_string(size()) +
                     " tokens");
    out += decoder.push(id);
  }
  return out + decoder.finish();
}

StreamDecoder::StreamDecoder(const Tokenizer& tokenizer, DecodeOptions options)
    : tokenizer_(tokenizer),
      options_(options),
      drop_space_(!options.continues && tokenizer.vocabulary().add_space_prefix &&
                  tokenizer.vocabulary().model == TokenizerModel::kSentencePiece) {}

std::string StreamDecoder::push(TokenId id) {
  const Vocabulary& v = tokenizer_.vocabulary();
  if (v.is_special(id) && !options_.special) return {};
  std::string_view piece = v.pieces[id];
  if (drop_space_ && !piece.empty()) {
    if (piece.front() == ' ') piece.remove_prefix(1);
    drop_space_ = false;
  }
  held_ += piece;
  const std::size_t whole = utf8_whole_length(held_);
  std::string out = utf8_repaired(std::string_view(held_).substr(0, whole));
  held_.erase(0, whole);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out = utf8_repaired(held_);
  held_.clear();
  return out;
}

}  // namespace krt::engine
